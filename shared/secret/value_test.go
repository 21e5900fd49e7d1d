package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"mcprelay/shared/secret"
)

const plain = "tok-5ecret/Value+1="

// holder holds values in every place that a struct has for them.
type holder struct {
	Exported secret.Value
	Pointer  *secret.Value
	Slice    []secret.Value
	Map      map[string]secret.Value
	Any      any
	hidden   secret.Value
	nested   struct{ deep *secret.Value }
	binding  secret.Binding
}

func newHolder(t *testing.T) holder {
	t.Helper()
	v := secret.NewValue([]byte(plain), "v1")
	b, refusal := secret.Bind(secret.Bearer("ref"), map[string]secret.Value{"ref": v})
	if refusal != nil {
		t.Fatal(refusal)
	}
	h := holder{Exported: v, Pointer: &v, Slice: []secret.Value{v}, Map: map[string]secret.Value{"k": v}, Any: v, hidden: v, binding: b}
	h.nested.deep = &v
	return h
}

// leaks reports the spelling in which text holds the secret, if it does.
func leaks(text string) string {
	spellings := map[string]string{
		"raw":     plain,
		"part":    "5ecret",
		"hex":     hex.EncodeToString([]byte(plain)),
		"HEX":     strings.ToUpper(hex.EncodeToString([]byte(plain))),
		"base64":  base64.StdEncoding.EncodeToString([]byte(plain)),
		"decimal": strings.Trim(fmt.Sprint([]byte(plain)), "[]"),
		"go":      strings.Trim(fmt.Sprintf("%#v", []byte(plain)), "[]byte{}"),
	}
	for name, spelling := range spellings {
		if strings.Contains(text, spelling) {
			return name
		}
	}
	return ""
}

func TestValueIsNotPrintedByAnyVerb(t *testing.T) {
	h := newHolder(t)
	subjects := map[string]any{
		"value": h.Exported, "pointer": h.Pointer, "slice": h.Slice, "map": h.Map, "struct": h, "pointer to struct": &h,
		"binding": h.binding, "pointer to binding": &h.binding, "array": [1]secret.Value{h.Exported}, "error": fmt.Errorf("x %v", h.Exported),
	}
	for name, subject := range subjects {
		for verb := ' '; verb <= '~'; verb++ {
			for _, flags := range []string{"", "+", "#", "-40", "040", " ", "+#", ".3", "[1]"} {
				format := "%" + flags + string(verb)
				if how := leaks(fmt.Sprintf(format, subject)); how != "" {
					t.Errorf("%s printed by %q shows the secret (%s)", name, format, how)
				}
			}
		}
		if how := leaks(fmt.Sprint(subject) + fmt.Sprintln(subject)); how != "" {
			t.Errorf("%s printed plainly shows the secret (%s)", name, how)
		}
	}
}

func TestValuePrintsAsRedacted(t *testing.T) {
	v := secret.NewValue([]byte(plain), "v1")
	for _, got := range []string{v.String(), v.GoString(), fmt.Sprintf("%s", v), fmt.Sprintf("%v", v), fmt.Sprintf("%#v", v), fmt.Sprintf("%x", v), v.LogValue().String()} {
		if got != "[redacted]" {
			t.Errorf("got %q, want [redacted]", got)
		}
	}
}

func TestValueIsNotMarshalled(t *testing.T) {
	h := newHolder(t)
	encoders := map[string]func(any) ([]byte, error){
		"json": json.Marshal,
		"xml":  xml.Marshal,
	}
	for name, encode := range encoders {
		for _, subject := range []any{h.Exported, h.Slice, h.Pointer, Named{h.Exported}} {
			b, err := encode(subject)
			if err != nil || leaks(string(b)) != "" || !strings.Contains(string(b), "[redacted]") {
				t.Errorf("%s of %T gives %q, %v", name, subject, b, err)
			}
		}
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(h.Exported); err == nil || leaks(b.String()) != "" {
		t.Errorf("gob gives %q, %v, want an error", b.String(), err)
	}
}

// Named has a value in an exported field.
type Named struct{ V secret.Value }

func TestValueIsNotLogged(t *testing.T) {
	h := newHolder(t)
	var b bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
		log := slog.New(handler)
		log.Info("m", "value", h.Exported, "pointer", h.Pointer, "holder", h, "binding", h.binding, "slice", h.Slice, "err", errors.Join(fmt.Errorf("%v", h.Exported)))
		log.With("value", h.Exported).WithGroup("g").Info("m", "map", h.Map)
	}
	if how := leaks(b.String()); how != "" || b.Len() == 0 {
		t.Errorf("a log line shows the secret (%s): %s", how, b.String())
	}
}

// A Value may have no exported field and no method that gives its bytes in a
// way that a printer would find.
func TestValueExposesNothingButByExpose(t *testing.T) {
	v := secret.NewValue([]byte(plain), "v1")
	typ := reflect.TypeOf(v)
	for i := range typ.NumField() {
		if typ.Field(i).IsExported() {
			t.Errorf("field %s is exported", typ.Field(i).Name)
		}
	}
	for i := range typ.NumMethod() {
		method := typ.Method(i)
		if method.Type.NumIn() != 1 || method.Name == "Expose" {
			continue
		}
		for _, out := range reflect.ValueOf(v).Method(i).Call(nil) {
			if how := leaks(fmt.Sprintf("%s %v", out, out)); how != "" {
				t.Errorf("method %s gives the secret (%s)", method.Name, how)
			}
		}
	}
}

func TestValueKeepsACopy(t *testing.T) {
	b := []byte(plain)
	v := secret.NewValue(b, "v1")
	clear(b)
	if got := string(v.Expose()); got != plain {
		t.Errorf("got %q, want %q", got, plain)
	}
	if v.Len() != len(plain) || v.Version() != "v1" {
		t.Errorf("got %d bytes of version %q", v.Len(), v.Version())
	}
}

func TestZeroValueIsEmpty(t *testing.T) {
	var v secret.Value
	if v.Len() != 0 || v.Version() != "" || v.Expose() != nil || v.String() != "[redacted]" {
		t.Errorf("the zero value is not empty: %d, %q", v.Len(), v.Version())
	}
}

func TestSameNeedsBytesAndVersion(t *testing.T) {
	value := func(b, version string) secret.Value { return secret.NewValue([]byte(b), version) }
	cases := []struct {
		name string
		v, w secret.Value
		want bool
	}{
		{"equal", value("a", "1"), value("a", "1"), true},
		{"other bytes", value("a", "1"), value("b", "1"), false},
		{"other length", value("a", "1"), value("aa", "1"), false},
		{"other version", value("a", "1"), value("a", "2"), false},
		{"both zero", secret.Value{}, secret.Value{}, true},
		{"one zero", value("a", ""), secret.Value{}, false},
	}
	for _, c := range cases {
		if got := c.v.Same(c.w); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
