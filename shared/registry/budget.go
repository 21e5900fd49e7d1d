package registry

// What calls of a budget class come to while their counts cannot be kept
// (on_error).
const (
	OnErrorRefuse = "refuse"
	OnErrorAllow  = "allow"
)

// Bounds of budgets and of a tool's own limits.
const (
	MaxBudgets        = 256
	MaxPerWindow      = 1_000_000_000 // calls: a minute of any relay has fewer
	MaxArgumentsBytes = 1 << 20       // of one call; an agent's whole request has no more
)

// Budget is how many calls the tools of one class may have together, in each
// minute, hour and day. At least one of the counts is set.
type Budget struct {
	Class     string
	PerMinute int // 0 for unlimited, as the others
	PerHour   int
	PerDay    int
	OnError   string // OnErrorRefuse or OnErrorAllow
}

// ToolLimit bounds the calls of one tool by one caller. At least one of the two
// is set.
type ToolLimit struct {
	ArgumentsBytes int64 // of one call, as the agent wrote them; 0 for no bound of its own
	PerMinute      int   // 0 for unlimited
}
