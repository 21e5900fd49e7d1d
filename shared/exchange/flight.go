package exchange

type flights struct{}
