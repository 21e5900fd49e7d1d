package wire_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"mcprelay/shared/call"
	"mcprelay/shared/wire"
)

func TestHeaderValueHoldsVisibleASCIIAndInnerBlanks(t *testing.T) {
	for _, value := range []string{"x", "Bearer abc.DEF-123_~+/==", "a b", "a  b", "!~", "application/json, text/event-stream", strings.Repeat("x", 9000)} {
		if err := wire.HeaderValue(value); err != nil {
			t.Errorf("HeaderValue(%.40q) = %v, want nil", value, err)
		}
	}
	for value, position := range map[string]int{
		" x": 0, "x ": 1, " ": 0, "token\n": 5, "token\r\nHost: evil": 5, "to\x00ken": 2, "\tx": 0, "a\tb": 1,
		"a\x7fb": 1, "é": 0, "abc\x80": 3, "a\u00a0b": 1, "a\x1fb": 1,
	} {
		err := wire.HeaderValue(value)
		if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("byte %d", position)) {
			t.Errorf("HeaderValue(%q) = %v, want byte %d", value, err, position)
		}
	}
	if wire.HeaderValue("") == nil {
		t.Error("an empty value passes")
	}
}

func TestHeaderValueErrorTellsNoByteOfTheValue(t *testing.T) {
	if err := wire.HeaderValue("hunter2hunter2\n"); err == nil || strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "15") {
		t.Errorf("error %v", err)
	}
}

func TestFieldNameIsAToken(t *testing.T) {
	for _, name := range []string{"Authorization", "x", "X-Api-Key", "x_api_key", "!#$%&'*+-.^_`|~09azAZ", "Mcp-Method"} {
		if err := wire.FieldName(name); err != nil {
			t.Errorf("FieldName(%q) = %v, want nil", name, err)
		}
	}
	for _, name := range []string{"", " ", "a b", "a:", ":authority", "a\n", "a\r", "a\x00", "é", "a/b", "a(b)", "a,b", `a"b`, "a@b", "a[b]", "a\\b", "{a}", "a=b", "a;b", "a?b", "<a>"} {
		if wire.FieldName(name) == nil || wire.HeaderName(name) == nil {
			t.Errorf("%q passes as a header name", name)
		}
	}
}

func TestOperatorsMayNotNameTheRelaysOwnHeaders(t *testing.T) {
	for _, name := range []string{
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade", "Proxy-Authorization",
		"Proxy-Connection", "Expect", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via", "Cookie", "Accept", "Accept-Encoding",
		"Content-Type", "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Name", "Mcp-Param-Region", "Idempotency-Key", "X-Idempotency-Key",
		"X-Amz-Date", "X-Amz-Security-Token", "X-Amzn-Trace-Id",
	} {
		for _, spelled := range []string{name, strings.ToLower(name), strings.ToUpper(name), strings.ReplaceAll(name, "-", "_")} {
			if wire.HeaderName(spelled) == nil {
				t.Errorf("%s may be named", spelled)
			}
		}
		if err := wire.FieldName(name); err != nil {
			t.Errorf("%s is no header name: %v", name, err)
		}
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X_Api_Key", "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "X-Amount", "Hostess", "Accept-Language", "Private-Token"} {
		if err := wire.HeaderName(name); err != nil {
			t.Errorf("HeaderName(%s) = %v, want nil", name, err)
		}
	}
}

func TestNamesAreEncodedWhereAHeaderCannotCarryThem(t *testing.T) {
	for name, want := range map[string]string{
		"execute_sql": "execute_sql", "a b": "a b", "files.read/x": "files.read/x", "a,b": "a,b",
		"":                   "=?base64??=",
		" us-west1":          "=?base64?IHVzLXdlc3Qx?=",
		"us-west1 ":          "=?base64?dXMtd2VzdDEg?=",
		"日本語":                "=?base64?5pel5pys6Kqe?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"\tindented":         "=?base64?CWluZGVudGVk?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64??=":        "=?base64?PT9iYXNlNjQ/Pz0=?=",
		"=?BASE64?x?=":       "=?BASE64?x?=",
		"=?base64?":          "=?base64?",
		"=?base64?=":         "=?base64?=",
	} {
		got := wire.EncodeName(name)
		if got != want {
			t.Errorf("EncodeName(%q) = %q, want %q", name, got, want)
		}
		if back, err := wire.DecodeName(got); err != nil || back != name {
			t.Errorf("DecodeName(%q) = %q, %v, want %q", got, back, err, name)
		}
	}
}

func TestDecodedNameIsPlainOrBase64OfUTF8(t *testing.T) {
	for value, want := range map[string]string{
		"us-west1": "us-west1", "": "", "=?BASE64?SGVsbG8=?=": "=?BASE64?SGVsbG8=?=", "=?base64?SGVsbG8=": "=?base64?SGVsbG8=", "SGVsbG8=?=": "SGVsbG8=?=",
		"=?base64?SGVsbG8=?=": "Hello", "=?base64??=": "",
	} {
		if got, err := wire.DecodeName(value); err != nil || got != want {
			t.Errorf("DecodeName(%q) = %q, %v, want %q", value, got, err, want)
		}
	}
	for _, value := range []string{
		"=?base64?SGVs!!!bG8=?=", "=?base64?SGVsbG8?=", "=?base64?SGVsbG9=?=", "=?base64?SGVs\nbG8=?=", "=?base64? SGVsbG8=?=",
		"=?base64?_-8=?=", "=?base64?/w==?=", "=?base64?=?=",
	} {
		if got, err := wire.DecodeName(value); err == nil {
			t.Errorf("DecodeName(%q) = %q, want an error", value, got)
		}
	}
}

// headers makes a header from pairs.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// modern is a request of the stateless era with the given method and target.
func modern(t *testing.T, method, target string) wire.Request {
	t.Helper()
	return read(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+target+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
}

func TestHeadersMustRepeatAModernRequest(t *testing.T) {
	const version, method, name = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
	echo := modern(t, "tools/call", `"name":"echo",`)
	list := modern(t, "tools/list", "")
	resource := modern(t, "resources/read", `"uri":"file:///é",`)
	prompt := modern(t, "prompts/get", `"name":" p",`)
	note := read(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	bare := read(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	bareNote := read(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	old := read(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18"}}}`)
	for what, c := range map[string]struct {
		request wire.Request
		headers http.Header
		want    call.Reason
	}{
		"all equal":                    {echo, headers(version, "2026-07-28", method, "tools/call", name, "echo"), ""},
		"encoded name":                 {echo, headers(version, "2026-07-28", method, "tools/call", name, "=?base64?ZWNobw==?="), ""},
		"blanks around":                {echo, headers(version, " 2026-07-28", method, "tools/call\t", name, "echo "), ""},
		"lower-case header names":      {echo, headers("mcp-protocol-version", "2026-07-28", "mcp-method", "tools/call", "mcp-name", "echo"), ""},
		"other headers":                {list, headers(version, "2026-07-28", method, "tools/list", name, "whatever", "Accept", "x", "Accept", "y"), ""},
		"resource":                     {resource, headers(version, "2026-07-28", method, "resources/read", name, "=?base64?ZmlsZTovLy/DqQ==?="), ""},
		"prompt with a leading blank":  {prompt, headers(version, "2026-07-28", method, "prompts/get", name, "=?base64?IHA=?="), ""},
		"no version":                   {echo, headers(method, "tools/call", name, "echo"), call.HeaderMismatch},
		"no method":                    {echo, headers(version, "2026-07-28", name, "echo"), call.HeaderMismatch},
		"no name":                      {echo, headers(version, "2026-07-28", method, "tools/call"), call.HeaderMismatch},
		"no headers":                   {echo, headers(), call.HeaderMismatch},
		"older version":                {echo, headers(version, "2025-11-25", method, "tools/call", name, "echo"), call.HeaderMismatch},
		"newer version":                {echo, headers(version, "2027-01-01", method, "tools/call", name, "echo"), call.HeaderMismatch},
		"another method":               {echo, headers(version, "2026-07-28", method, "tools/list", name, "echo"), call.HeaderMismatch},
		"method in another case":       {echo, headers(version, "2026-07-28", method, "Tools/Call", name, "echo"), call.HeaderMismatch},
		"another name":                 {echo, headers(version, "2026-07-28", method, "tools/call", name, "safe"), call.HeaderMismatch},
		"name in another case":         {echo, headers(version, "2026-07-28", method, "tools/call", name, "Echo"), call.HeaderMismatch},
		"another encoded name":         {echo, headers(version, "2026-07-28", method, "tools/call", name, "=?base64?c2FmZQ==?="), call.HeaderMismatch},
		"malformed sentinel":           {echo, headers(version, "2026-07-28", method, "tools/call", name, "=?base64?!?="), call.HeaderMismatch},
		"raw UTF-8 is not the name":    {resource, headers(version, "2026-07-28", method, "resources/read", name, "file:///\xe9"), call.HeaderMismatch},
		"two versions":                 {echo, headers(version, "2026-07-28", version, "2026-07-28", method, "tools/call", name, "echo"), call.HeaderMismatch},
		"two methods":                  {echo, headers(version, "2026-07-28", method, "tools/call", method, "tools/call", name, "echo"), call.HeaderMismatch},
		"two names":                    {echo, headers(version, "2026-07-28", method, "tools/call", name, "echo", name, "x"), call.HeaderMismatch},
		"two names joined":             {echo, headers(version, "2026-07-28", method, "tools/call", name, "echo, x"), call.HeaderMismatch},
		"two versions joined":          {echo, headers(version, "2026-07-28,2026-07-28", method, "tools/call", name, "echo"), call.HeaderMismatch},
		"modern by header alone":       {bare, headers(version, "2026-07-28", method, "tools/list"), call.BadParams},
		"future by header alone":       {bare, headers(version, "2030-01-01"), call.BadParams},
		"notification without headers": {note, headers(), ""},
		"notification with a lie":      {note, headers(method, "notifications/progress"), call.HeaderMismatch},
		"notification, wrong version":  {note, headers(version, "2025-11-25"), call.HeaderMismatch},
		"bare notification":            {bareNote, headers(version, "2026-07-28"), ""},
		"legacy without headers":       {bare, headers(), ""},
		"legacy with its version":      {bare, headers(version, "2025-11-25"), ""},
		"legacy with stray headers":    {bare, headers(version, "2025-11-25", method, "tools/call", name, "x"), ""},
		"legacy with two versions":     {bare, headers(version, "2025-11-25", version, "2026-07-28"), call.HeaderMismatch},
		"old _meta without headers":    {old, headers(), ""},
		"old _meta, same header":       {old, headers(version, "2025-06-18"), ""},
		"old _meta, modern header":     {old, headers(version, "2026-07-28", method, "tools/list"), call.HeaderMismatch},
	} {
		t.Run(what, func(t *testing.T) {
			var got call.Reason
			if refusal := wire.CheckHeaders(c.headers, c.request); refusal != nil {
				got = refusal.Reason
			}
			if got != c.want {
				t.Errorf("reason %q, want %q", got, c.want)
			}
		})
	}
}

func TestVersionsAreOrderedAndOfOneEra(t *testing.T) {
	versions := wire.Versions()
	if versions[0] != wire.Modern || versions[1] != wire.Legacy {
		t.Errorf("versions %v do not begin with the newest of each era", versions)
	}
	for i, v := range versions {
		if i > 0 && v >= versions[i-1] {
			t.Errorf("%s comes after %s", v, versions[i-1])
		}
		if wire.IsModern(v) == wire.IsLegacy(v) {
			t.Errorf("%s is of both eras or of none", v)
		}
	}
	for v, want := range map[string]bool{"2026-07-28": true, "2026-07-29": true, "2099-01-01": true, "DRAFT-2026": true, "2026-07-27": false, "2025-11-25": false, "1900-01-01": false, "": false} {
		if wire.IsModern(v) != want {
			t.Errorf("IsModern(%q) = %v, want %v", v, !want, want)
		}
	}
	if wire.IsLegacy("2025-01-01") || wire.IsLegacy("") {
		t.Error("an unknown revision is a legacy one")
	}
	versions[0] = "changed"
	if wire.Versions()[0] != wire.Modern {
		t.Error("the list can be changed from outside")
	}
}

// FuzzName checks that every name survives its header, and that what may be
// sent is what net/http sends unchanged.
func FuzzName(f *testing.F) {
	for _, s := range []string{"echo", " é", "=?base64?SGVsbG8=?=", "=?base64?!?=", "a\r\nHost: x", "=?base64?/w==?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		encoded := wire.EncodeName(s)
		if err := wire.HeaderValue(encoded); err != nil {
			t.Fatalf("EncodeName(%q) = %q: %v", s, encoded, err)
		}
		decoded, err := wire.DecodeName(encoded)
		if utf8.ValidString(s) && (err != nil || decoded != s) {
			t.Fatalf("%q came back as %q, %v", s, decoded, err)
		}
		if plain, err := wire.DecodeName(s); err == nil && plain != s && wire.EncodeName(plain) != s && wire.HeaderValue(plain) != nil {
			t.Fatalf("two encodings of %q: %q and %q", plain, s, wire.EncodeName(plain))
		}
		if wire.HeaderValue(s) == nil && strings.TrimSpace(s) != s {
			t.Fatalf("%q would be trimmed", s)
		}
		if wire.HeaderName(s) == nil && (wire.FieldName(s) != nil || strings.ContainsAny(s, ": \r\n\x00")) {
			t.Fatalf("%q is a header name", s)
		}
	})
}
