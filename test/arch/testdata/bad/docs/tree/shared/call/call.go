package call

type Bare struct{}

func (Bare) Method() {}

func (*list[T]) Hidden() {}

type list[T any] struct{}

// Told is told.
type Told struct{}

// The group has one.
const (
	One = 1
	Two = 2
)

const Three = 3

var (
	Four = 4
	Five = 5 // has one
)

func Loose() {}

func small() {}
