package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxName bounds a name and a digest in an offer, in bytes: as much as a call can
// name.
const MaxName = 512

// check says why a turn cannot be opened. What it names is the runtime's own.
func (t Turn) check() error {
	life := t.Expires.Sub(t.Opened)
	switch {
	case t.Tenant == "" || t.Kind == "" || t.Subject == "":
		return errors.New("the turn is nobody's")
	case t.Mode != Ask && t.Mode != Build:
		return fmt.Errorf("the mode must be %q or %q", Ask, Build)
	case life <= 0 || life > MaxLifetime:
		return fmt.Errorf("the lifetime must be more than nothing and at most %v", MaxLifetime)
	case len(t.Offers) > MaxOffers:
		return fmt.Errorf("it offers %d tools, at most %d can be", len(t.Offers), MaxOffers)
	}
	if err := distinct(t.Offers); err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err == nil && len(text) > MaxSize {
		err = fmt.Errorf("it has %d bytes, at most %d can be", len(text), MaxSize)
	}
	return err
}

// distinct wants usable names, and each tool once: two digests of one would
// leave open which one holds.
func distinct(offers []Offer) error {
	seen := make(map[[2]string]bool, len(offers))
	for i, o := range offers {
		at := [2]string{o.Server, o.Tool}
		switch {
		case !name(o.Server) || !name(o.Tool):
			return fmt.Errorf("offer %d needs a server and a tool, each of at most %d bytes", i, MaxName)
		case o.Digest != "" && !name(o.Digest):
			return fmt.Errorf("the digest of offer %d has more than %d bytes", i, MaxName)
		case seen[at]:
			return fmt.Errorf("offer %d is there twice", i)
		}
		seen[at] = true
	}
	return nil
}

// name reports whether a text can be a name. What is not UTF-8 would come out
// of its JSON form as another text.
func name(s string) bool { return s != "" && len(s) <= MaxName && utf8.ValidString(s) }
