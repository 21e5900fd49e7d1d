package wire_test

import (
	"encoding/json"
	"testing"

	"mcprelay/shared/wire"
)

func TestANotificationConcernsTheRequestWhoseTokenItHas(t *testing.T) {
	progress := func(token string) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":` + token + `}}`
	}
	for name, tt := range map[string]struct {
		text, meta string
		want       bool
	}{
		"the same":              {progress(`"t"`), `{"progressToken":"t"}`, true},
		"the same number":       {progress(`7`), `{"progressToken":7}`, true},
		"a string of it":        {progress(`"7"`), `{"progressToken":7}`, true},
		"a number of it":        {progress(`7`), `{"progressToken":"7"}`, true},
		"a float of it":         {progress(`7.0`), `{"progressToken":7}`, true},
		"other escapes":         {progress(`"\u003ca\/b\u003e"`), `{"progressToken":"<a/b>"}`, true},
		"another":               {progress(`"u"`), `{"progressToken":"t"}`, false},
		"another number":        {progress(`70`), `{"progressToken":7}`, false},
		"one with quotes":       {progress(`"\"7\""`), `{"progressToken":7}`, false},
		"beside a digit":        {progress(`9007199254740993`), `{"progressToken":9007199254740992}`, false},
		"nobody asked":          {progress(`"t"`), `{"x":"t"}`, false},
		"no _meta":              {progress(`"t"`), ``, false},
		"null for null":         {progress(`null`), `{"progressToken":null}`, false},
		"no token":              {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`, `{"progressToken":"t"}`, false},
		"no params":             {`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"progressToken":"t"}`, false},
		"params of a kind":      {`{"jsonrpc":"2.0","method":"notifications/progress","params":["progressToken","t"]}`, `{"progressToken":"t"}`, false},
		"log message":           {`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`, ``, true},
		"log message of none":   {`{"jsonrpc":"2.0","method":"notifications/message"}`, `{"progressToken":"t"}`, false},
		"log message of a kind": {`{"jsonrpc":"2.0","method":"notifications/message","params":[1]}`, ``, false},
		"list change":           {`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"progressToken":"t"}}`, `{"progressToken":"t"}`, false},
		"response":              {`{"jsonrpc":"2.0","id":1,"result":{"progressToken":"t"}}`, `{"progressToken":"t"}`, false},
	} {
		reply, err := wire.ReadReply([]byte(tt.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, got := reply.Concerns(json.RawMessage(tt.meta)); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

func TestProgressHasTheTokenAsTheAgentSpelledIt(t *testing.T) {
	for given, asked := range map[string]string{
		`7`: `7`, `"7"`: `7`, `7.0`: `7`, `8`: `"8"`, `"<a\/b>"`: `"\u003ca/b>"`, `"\u0074"`: `"t"`,
	} {
		params := `{ "message" : "half","progressToken":` + given + ` ,"progress":1.0}`
		reply, err := wire.ReadReply([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":` + params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := reply.Concerns(json.RawMessage(`{"x":1,"progressToken":` + asked + `}`))
		if want := `{ "message" : "half","progressToken":` + asked + ` ,"progress":1.0}`; !ok || string(got) != want {
			t.Errorf("got %s, %t, want %s", got, ok, want)
		}
	}
}
