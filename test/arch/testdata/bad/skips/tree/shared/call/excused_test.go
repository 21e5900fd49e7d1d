package call

import "testing"

func TestB(t *testing.T) {
	t.Skip() // arch:allow skips: the reason is here
	// arch:allow skips: the reason is above
	t.Skip()

	t.Skip() // arch:allow skips:
	t.Skip() // arch:allow sleeps: this is another rule
}
