package wire

import "encoding/json"

// Set is a change of one member for [Splice].
type Set struct {
	Name  string
	Value json.RawMessage // a JSON value
	// Absent sets the member only where the object has none of that name.
	Absent bool
	// Within changes members of the member instead of giving it a Value. A
	// member that is missing or no object becomes an object with just these.
	Within []Set
}

// Splice gives the parts that, one after another, are object with its members
// changed as [SetMember] changes them, in one pass and without a copy: most
// parts are slices of object, and a large result can be written part by part.
// The error is of an object or a value that is none.
func Splice(object json.RawMessage, changes ...Set) ([][]byte, error) {
	parts := make([][]byte, 0, 4*len(changes)+1)
	return appendSplice(parts, object, changes)
}

// appendSplice appends the parts to others. A name may be changed once.
func appendSplice(parts [][]byte, object []byte, changes []Set) ([][]byte, error) {
	var done uint64 // a bit for each change
	written, last := 0, member{}
	m, found, err := firstMember(object)
	for found && err == nil {
		if i := changeOf(object, m, changes); i >= 0 {
			done |= 1 << i
			if change := changes[i]; !change.Absent {
				parts = append(parts, object[written:m.value])
				if parts, err = appendChange(parts, object[m.value:m.end], change); err != nil {
					return nil, err
				}
				written = m.end
			}
		}
		if last = m; object[m.comma] == '}' {
			break
		}
		m, found, err = memberAt(object, blanks(object, m.comma+1))
	}
	if err != nil {
		return nil, err
	}
	at := m.comma // an empty object's closing brace
	if last.end > 0 {
		at = last.end
	}
	if at > written {
		parts, written = append(parts, object[written:at]), at
	}
	comma := last.end > 0
	for i, change := range changes {
		if done&(1<<i) != 0 {
			continue
		}
		parts = append(parts, memberHead(change.Name, comma))
		if parts, err = appendChange(parts, nil, change); err != nil {
			return nil, err
		}
		comma = true
	}
	return append(parts, object[written:]), nil
}

// changeOf is the index of the change of a member, -1 where it is none.
func changeOf(object []byte, m member, changes []Set) int {
	quoted := object[m.name:endOfString(object, m.name)]
	if len(quoted) < 2 {
		return -1
	}
	name := unquote(quoted)
	for i := range changes {
		if string(name) == changes[i].Name {
			return i
		}
	}
	return -1
}

// appendChange appends the new value of a member, whose old one is nil where
// there is none.
func appendChange(parts [][]byte, old []byte, change Set) ([][]byte, error) {
	switch {
	case change.Within == nil && blanks(change.Value, 0) == len(change.Value):
		return nil, errNotValue
	case change.Within == nil:
		return append(parts, change.Value), nil
	case len(old) == 0 || old[0] != '{':
		old = []byte(`{}`)
	}
	return appendSplice(parts, old, change.Within)
}

// memberHead is what stands before the value of a new member.
func memberHead(name string, comma bool) []byte {
	head := make([]byte, 0, len(name)+len(`,"":`))
	if comma {
		head = append(head, ',')
	}
	return append(appendQuoted(head, name), ':')
}
