package front

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"mcprelay/shared/call"
	"mcprelay/shared/relay"
)

// Bounds of one page of a list: few clients ask for a second one, and a reply
// that is buffered on its way may have 6 MB.
const (
	pageItems = 1000
	pageBytes = 3 << 20
)

// item is one item of a list as an agent is shown it, and where it stands.
type item struct {
	server, name string
	raw          json.RawMessage
}

// place is where a list goes on: after an item, whether or not that is still
// there, so that a cursor means the same in another process and after a change.
type place struct{ server, name string }

// cursor is the place as an agent is given it.
func (p place) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.server + "\n" + p.name))
}

// readPlace reads a cursor; the beginning for an empty one.
func readPlace(cursor string) (place, *call.Refusal) {
	if cursor == "" {
		return place{}, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	server, name, ok := strings.Cut(string(text), "\n")
	if err != nil || !ok || server == "" || name == "" {
		return place{}, call.Refuse(call.BadParams, "the cursor is not one of this list")
	}
	return place{server, name}, nil
}

// after reports whether an item comes after the place.
func (p place) after(i item) bool {
	return i.server > p.server || i.server == p.server && i.name > p.name
}

// cut takes a page off the items that come after a place, and the place where
// the next one begins; the zero place for none.
func cut(items []item, from place) (page []item, next place) {
	size := 0
	for _, i := range items {
		if !from.after(i) {
			continue
		}
		if size += len(i.raw); len(page) == pageItems || len(page) > 0 && size > pageBytes {
			last := page[len(page)-1]
			return page, place{last.server, last.name}
		}
		page = append(page, i)
	}
	return page, place{}
}

// rendered gives a view's list as the desk shows it. On the path of all servers
// it is made once for a catalog and a registration.
func rendered(d desk, v relay.View, list call.List) []item {
	if d.server != "" {
		return render(d, v, list, v.List(list))
	}
	items, _ := v.Memo(list, func(shown []relay.Shown) any { return render(d, v, list, shown) }).([]item)
	return items
}

func render(d desk, v relay.View, list call.List, shown []relay.Shown) []item {
	out := sharing(d, v.Server, list, shown)
	items := make([]item, 0, len(shown))
	for i, s := range shown {
		if raw := d.descriptor(v.Server, list, s); raw != nil && !out[i] {
			items = append(items, item{server: v.Server, name: s.Name, raw: raw})
		}
	}
	return items
}
