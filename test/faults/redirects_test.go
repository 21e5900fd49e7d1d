package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcprelay/shared/call"
	"mcprelay/test/hostile"
)

func redirects() []row {
	return []row{{25, "a redirect is never followed, whatever its status and place", redirected}}
}

// place is a kind of Location and the host that the record must name.
type place struct {
	name    string
	headers []string
	host    string
}

func places(k *stage, up *hostile.Server) []place {
	at := func(name, location, host string) place { return place{name, []string{"Location: " + location}, host} }
	here := "up.mcp.localhost"
	return []place{
		at("the same origin", up.URL()+"/elsewhere", here),
		at("the same place", up.URL(), here),
		at("without TLS", "http://"+up.Authority()+"/mcp", here),
		at("another port", "https://"+here+":1/", here),
		at("another host", "https://evil.example.net/mcp?x="+strings.Repeat("y", 10), "evil.example.net"),
		at("a canary", "http://"+k.trap()+"/", "127.0.0.1"),
		at("metadata", "http://169.254.169.254/latest/meta-data/", "169.254.169.254"),
		at("an address of the next version", "http://[::1]:8080/", "::1"),
		at("a path", "/login", here),
		at("a relative path", "login?next=1", here),
		at("another scheme", "file:///etc/passwd", here),
		at("a script", "javascript:alert(1)", here),
		at("letters in upper case", "HTTPS://EVIL.example.net", "evil.example.net"),
		at("no URL", "http://[::1", ""),
		at("nothing", "", ""),
		{"no header", nil, ""},
		{"two headers", []string{"Location: https://one.example.net/", "Location: https://two.example.net/"}, "one.example.net"},
		{"a refresh", []string{"Refresh: 0; url=http://" + k.trap() + "/", "Location: /"}, here},
	}
}

func redirected(t *testing.T, k *stage) {
	k.eras(t, hostile.Setup{}, func(t *testing.T, s *scene) {
		for status := http.StatusMultipleChoices; status <= http.StatusPermanentRedirect; status++ {
			for i, p := range places(k, s.up) {
				if s.up.Era() != hostile.Modern && i%9 != status%9 {
					continue // every status and every place, but not each with each
				}
				s.under(fmt.Sprintf("%d to %s", status, p.name), func(s *scene) {
					s.on(hostile.Status(status, "text/html", bait, p.headers...))
					s.ask(hostile.Ask{}, want{reason: call.Redirect, status: status, location: p.host})
				})
			}
		}
		s.on(hostile.Status(http.StatusTemporaryRedirect, "", "", "Location: "+s.up.URL()))
		s.ask(hostile.Ask{Plain: true}, want{reason: call.Redirect, status: http.StatusTemporaryRedirect, location: "up.mcp.localhost"})
		s.ask(hostile.Ask{Modern: true, Tool: "look"}, want{reason: call.Redirect, status: http.StatusTemporaryRedirect, location: "up.mcp.localhost"})
	})
	t.Run("its body is not read", func(t *testing.T) {
		s := k.warm(t, hostile.Modern, hostile.Setup{})
		gone := make(chan struct{})
		s.on(func(c *hostile.Conn, _ hostile.Request) {
			defer close(gone)
			c.Send("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 10\r\n\r\n")
			c.AwaitGone()
			c.FIN()
		})
		s.ask(hostile.Ask{}, want{reason: call.Redirect, status: http.StatusFound, location: "up.mcp.localhost"})
		<-gone
	})
	t.Run("while the server is opened", func(t *testing.T) {
		k.cold(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			for _, method := range []string{"server/discover", "initialize"} {
				s.up.On(method, hostile.Status(http.StatusFound, "", bait, "Location: http://"+k.trap()+"/"))
			}
			s.both(want{reason: call.Redirect, effect: call.ImpactNone, status: http.StatusFound, location: "127.0.0.1", posts: none, session: "-"})
		})
	})
	t.Run("what only looks like one is not followed either", func(t *testing.T) {
		k.eras(t, hostile.Setup{}, func(_ *testing.T, s *scene) {
			away := "http://" + k.trap() + "/"
			s.on(hostile.JSON(response, "Refresh: 0; url="+away, "Link: <"+away+`>; rel="canonical"`, "Content-Location: "+away, "Location: "+away))
			s.ask(hostile.Ask{}, want{result: done})
			s.on(hostile.Status(http.StatusOK, "text/html", `<meta http-equiv="refresh" content="0;url=`+away+`">`))
			s.ask(hostile.Ask{}, want{reason: call.ContentType, status: http.StatusOK})
		})
	})
}
