package exchange

// What the tests of single parts reach. The exchange as a whole is tested from
// outside.
var (
	ReadHead    = readHead
	CheckHead   = checkHead
	AppendMeta  = appendMeta
	ErrHead     = errHead
	ErrTooLarge = errHeadTooLarge
)

// The parts of an opening and of the memory.
type (
	Flights = flights
	Memory  = memory
)

// Do, Get, Set and Drop are the methods of the parts.
var (
	Do   = (*flights).do
	Get  = (*memory).get
	Set  = (*memory).set
	Drop = (*memory).drop
)

// Bounds that tests are written against.
const (
	MaxRemembered = maxRemembered
	MaxHead       = maxHead
)
