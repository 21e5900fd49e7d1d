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
// changed, in their old places or, where they are new, as the last ones. It
// takes one pass and copies nothing: most parts are slices of object, so that a
// large result can be written part by part. There may be up to 64 changes, of
// as many names. The error is of an object or a value that is none.
func Splice(object json.RawMessage, changes ...Set) ([][]byte, error) {
	return appendSplice(make([][]byte, 0, 4*len(changes)+1), object, changes)
}

// appendSplice appends the parts to others.
func appendSplice(parts [][]byte, object []byte, changes []Set) ([][]byte, error) {
	var done uint64 // a bit for each change
	all := uint64(1)<<len(changes) - 1
	written, last := 0, member{}
	m, found, err := firstMember(object)
	for found && err == nil && done != all {
		last = m
		if i := changeOf(object, m, changes); i >= 0 {
			done |= 1 << i
			if !changes[i].Absent {
				parts = append(parts, object[written:m.value])
				if parts, err = appendValue(parts, object[m.value:m.end], changes[i]); err != nil {
					return nil, err
				}
				written = m.end
			}
		}
		if object[m.comma] == '}' {
			break
		}
		m, found, err = memberAt(object, blanks(object, m.comma+1))
	}
	if err != nil {
		return nil, err
	}
	if done != all {
		at := m.comma // an empty object's closing brace
		if last.end > 0 {
			at = last.end
		}
		parts, written = append(parts, object[written:at]), at
		if parts, err = appendMembers(parts, last.end > 0, changes, done); err != nil {
			return nil, err
		}
	}
	return append(parts, object[written:]), nil
}

// appendMembers appends the members that are new; comma says that others are
// before them.
func appendMembers(parts [][]byte, comma bool, changes []Set, done uint64) (_ [][]byte, err error) {
	for i, change := range changes {
		if done&(1<<i) != 0 {
			continue
		}
		head := make([]byte, 0, len(change.Name)+len(`,"":`))
		if comma {
			head = append(head, ',')
		}
		parts = append(parts, append(AppendString(head, change.Name), ':'))
		if parts, err = appendValue(parts, nil, change); err != nil {
			return nil, err
		}
		comma = true
	}
	return parts, nil
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

// appendValue appends the new value of a member, whose old one is nil where
// there is none.
func appendValue(parts [][]byte, old []byte, change Set) ([][]byte, error) {
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
