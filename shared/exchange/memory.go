package exchange

type memory struct{}
