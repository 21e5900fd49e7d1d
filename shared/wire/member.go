package wire

import (
	"bytes"
	"encoding/json"
)

// Member gives the value of one member of an object, a slice of it; false
// where there is none. Names are compared without their escapes. The object
// must have been read by this package, here and in the functions below.
func Member(object json.RawMessage, name string) (json.RawMessage, bool) {
	_, m, found, err := find(object, name)
	if err != nil || !found {
		return nil, false
	}
	return object[m.value:m.end:m.end], true
}

// SetMember gives a copy of object in which the member called name has value,
// in its old place or, where it is new, as the last one. All other bytes stay.
// The error is of an object or a value that is none.
func SetMember(object json.RawMessage, name string, value json.RawMessage) (json.RawMessage, error) {
	parts, err := Splice(object, Set{Name: name, Value: value})
	if err != nil {
		return nil, err
	}
	return bytes.Join(parts, nil), nil
}

// DeleteMember gives a copy of object without the member called name, its
// comma and the blanks around it; the object itself where there is none.
func DeleteMember(object json.RawMessage, name string) (json.RawMessage, error) {
	previous, m, found, err := find(object, name)
	if err != nil || !found {
		return object, err
	}
	from, to := m.name, m.end
	if object[m.comma] == ',' {
		to = blanks(object, m.comma+1)
	} else if previous.end > 0 {
		from = previous.end
	}
	changed := make([]byte, 0, len(object))
	changed = append(changed, object[:from]...)
	return append(changed, object[to:]...), nil
}
