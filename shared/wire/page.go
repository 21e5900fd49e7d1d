package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MaxCursor bounds a cursor, in bytes. It is the server's own text sent back
// to it; those seen in the field are numbers and encoded keys.
const MaxCursor = 8 << 10

// Elements splits the member called name that is an array into its elements,
// as they came; false where there is no such array. The result must have been
// read by this package.
func Elements(result json.RawMessage, name string) ([]json.RawMessage, bool) {
	raw, ok := Member(result, name)
	if !ok || len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var list []json.RawMessage
	return list, json.Unmarshal(raw, &list) == nil
}

// NextCursor is the cursor of the page that follows result, as it came, nil
// after the last page. An empty cursor is one like any other since 2026-07-28;
// servers before it put it on their last page, so legacy says who speaks. A
// cursor among followed would be followed for ever, and is an error, as is one
// that is no string or longer than [MaxCursor].
func NextCursor(result json.RawMessage, legacy bool, followed []json.RawMessage) (json.RawMessage, error) {
	cursor, ok := Member(result, "nextCursor")
	if !ok || string(cursor) == "null" || legacy && string(cursor) == `""` {
		return nil, nil
	}
	if len(cursor) > MaxCursor || cursor[0] != '"' {
		return nil, fmt.Errorf("an unusable cursor of %d bytes", len(cursor))
	}
	for _, earlier := range followed {
		if bytes.Equal(earlier, cursor) {
			return nil, fmt.Errorf("a cursor came twice, after %d pages", len(followed))
		}
	}
	return cursor, nil
}
