package wire

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// fewNames is how many names of one object are compared one by one.
	fewNames = 16
	// keptNames bounds the room for names that is kept for other texts: 24
	// bytes each.
	keptNames = 1024
)

// names holds the names of the objects that are open, those of the innermost
// last, to tell when one is there again. The zero names is ready.
type names struct {
	all    []name
	arena  []byte  // the content of names with escapes
	slots  []int32 // the tables of the objects with many names, the innermost last
	seed   maphash.Seed
	seeded bool
}

// name is where the content of one name is.
type name struct {
	head uint64 // its first eight bytes
	at   int    // in the text or, from the end, in the arena
	size int
}

// group is the names of one object.
type group struct {
	first int // in all
	table int // where its table begins in slots
	size  int // of the table, a power of two; 0 for none
}

// reset forgets all names, and room that few texts need.
func (n *names) reset() {
	n.all, n.arena, n.slots = n.all[:0], n.arena[:0], n.slots[:0]
	if max(cap(n.all), cap(n.arena)/24, cap(n.slots)/8) > keptNames {
		n.all, n.arena, n.slots = nil, nil, nil
	}
}

// open begins an object.
func (n *names) open() group { return group{first: len(n.all), table: len(n.slots)} }

// close ends the object that was begun last and not ended.
func (n *names) close(g group) { n.all, n.slots = n.all[:g.first], n.slots[:g.table] }

// place gives the name between the quotes at text[start] and before end.
func (n *names) place(text []byte, start, end int, escaped bool) name {
	if !escaped {
		size := end - start - 2
		return name{head(text, start+1, size), start + 1, size}
	}
	from := len(n.arena)
	// The error is of lone surrogates, which are all the same character.
	n.arena, _ = jsontext.AppendUnquote(n.arena, text[start:end])
	size := len(n.arena) - from
	return name{head(n.arena, from, size), ^from, size}
}

// add adds a name to an object, and reports false if it is there already.
func (n *names) add(g *group, text []byte, one name) bool {
	if g.size > 0 {
		return n.insert(g, text, one)
	}
	for _, other := range n.all[g.first:] {
		if one.head == other.head && one.size == other.size && (one.size <= 8 || bytes.Equal(n.content(text, one), n.content(text, other))) {
			return false
		}
	}
	n.all = append(n.all, one)
	if len(n.all)-g.first == fewNames {
		n.tabulate(g, text, 8*fewNames)
	}
	return true
}

// head is the first bytes of a name of that size at b[at].
func head(b []byte, at, size int) uint64 {
	if at+8 > len(b) {
		var short [8]byte
		copy(short[:], b[at:at+size])
		return binary.LittleEndian.Uint64(short[:])
	}
	word := binary.LittleEndian.Uint64(b[at:])
	if size < 8 {
		word &= 1<<(8*size) - 1
	}
	return word
}

// content is a name without its escapes.
func (n *names) content(text []byte, one name) []byte {
	if one.at < 0 {
		return n.arena[^one.at:][:one.size]
	}
	return text[one.at:][:one.size]
}

// insert adds a name to an object that has a table.
func (n *names) insert(g *group, text []byte, one name) bool {
	slot := n.slot(g, text, one)
	if *slot != 0 {
		return false
	}
	n.all = append(n.all, one)
	count := len(n.all) - g.first
	*slot = int32(count)
	if 2*count > g.size {
		n.tabulate(g, text, 4*g.size)
	}
	return true
}

// tabulate makes a table of size slots of the names of an object. No object
// inside it is open, so that its table is the last one.
func (n *names) tabulate(g *group, text []byte, size int) {
	if !n.seeded {
		// A peer that knew the seed could choose names that all want one slot.
		n.seed, n.seeded = maphash.MakeSeed(), true
	}
	n.slots, g.size = slices.Grow(n.slots[:g.table], size)[:g.table+size], size
	clear(n.slots[g.table:])
	for i, one := range n.all[g.first:] {
		*n.slot(g, text, one) = int32(i + 1)
	}
}

// slot is where a name is in the table, or the free place where it belongs.
// What it holds is 1 for the first name of the object.
func (n *names) slot(g *group, text []byte, one name) *int32 {
	content := n.content(text, one)
	table := n.slots[g.table : g.table+g.size]
	for i := int(maphash.Bytes(n.seed, content)); ; i++ {
		slot := &table[i&(g.size-1)]
		if *slot == 0 {
			return slot
		}
		other := n.all[g.first+int(*slot)-1]
		if one.head == other.head && one.size == other.size && bytes.Equal(content, n.content(text, other)) {
			return slot
		}
	}
}
