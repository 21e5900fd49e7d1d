// Package call keeps things that change.
package call

import (
	_ "embed"
	"errors"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
)

// ErrFine is a sentinel.
var ErrFine = errors.New("fine")

// Table is a literal that others could write to.
var Table = []int{1}

//go:embed call.go
var fine1 string

var (
	fine2          = regexp.MustCompile("x")
	fine3          = sync.OnceValue(func() int { return 1 })
	fine4          = map[string]int{"a": 1}
	fine5          = []byte("x")
	_              = errors.New
	counter        int
	mutex          sync.Mutex
	atom           = atomic.Int64{}
	pointer        = &[]int{1}
	home           = os.Getenv("HOME")
	f              = func() {}
	two, calls     = pair()
	assigned       = "x"
	appended       = []int{1}
	indexed        = [2]int{1}
	deleted        = map[string]int{"a": 1}
	addressed      = struct{ n int }{1}
	field          = struct{ n int }{1}
	counted        = 1
	changedByTests = []int{1}
)

func pair() (int, int) { return 1, 2 }

func write() {
	assigned = "y"
	appended = append(appended, 2)
	indexed[0] = 2
	delete(deleted, "a")
	_ = &addressed
	field.n = 2
	counted++
	fine4 := 5
	fine4 = 6
	_ = fine4
}
