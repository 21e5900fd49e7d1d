package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"mcprelay/shared/registry"
)

const (
	// tokenVariable holds the token, headerVariable the whole value of the
	// Authorization header: the bridge's argument must have no blank, since
	// several clients do not quote arguments.
	tokenVariable  = "RELAY_TOKEN"
	headerVariable = "RELAY_AUTHORIZATION"
	// bridge is mcp-remote, which makes a stdio server of a server behind a URL.
	bridge = "mcp-remote@0.15.1"
	// tokenInput is what VS Code asks for once and keeps.
	tokenInput = "relay-token"
)

type connectOptions struct {
	base, server, headerFile string
}

func connectCommand() *cobra.Command {
	var o connectOptions
	command := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Print the configuration of a client: " + strings.Join(clientNames(), ", "),
		Long: "Print the configuration with which a client speaks to the relay, on stdout; where it belongs, on stderr.\n" +
			"No token is printed: the client reads it from a variable, a file, or asks for it.\n\nClients: " + strings.Join(clientNames(), ", "),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return connect(c, args[0], o) },
	}
	f := command.Flags()
	f.StringVar(&o.base, "url", "http://127.0.0.1:8080", "the `url` of the relay, without /v1")
	f.StringVar(&o.server, "server", "", "only this `server`, under its own names (default: all servers)")
	f.StringVar(&o.headerFile, "header-file", "", "zed, stdio: the bridge reads the line \"Authorization: Bearer <token>\" from this `file`")
	return command
}

func connect(c *cobra.Command, name string, o connectOptions) error {
	client, ok := clients(name)
	if !ok {
		return &usageError{fmt.Errorf("%q is no client that is known here: %s", name, strings.Join(clientNames(), ", "))}
	}
	if o.headerFile != "" && !client.bridged {
		return &usageError{fmt.Errorf("--header-file: %s needs no bridge", name)}
	}
	e, err := o.entry()
	if err != nil {
		return &usageError{err}
	}
	text, err := client.write(e)
	if err != nil {
		return err
	}
	fmt.Fprint(c.OutOrStdout(), text)
	fmt.Fprintf(c.ErrOrStderr(), "relay: this belongs in %s; %s\n", client.file, client.token(e))
	return nil
}

// entry is what every client is told.
type entry struct {
	name       string // of the server, as the client shows it
	url        string
	headerFile string
}

// entry checks the options.
func (o connectOptions) entry() (entry, error) {
	base, err := relayURL(o.base)
	if err != nil {
		return entry{}, fmt.Errorf("--url: %w", err)
	}
	if strings.Contains(o.headerFile, "${") {
		return entry{}, errors.New("--header-file: the bridge expands no variables in the name of a file")
	}
	if o.server == "" {
		return entry{name: "relay", url: base + "/v1/mcp", headerFile: o.headerFile}, nil
	}
	if err := registry.ServerName(o.server); err != nil {
		return entry{}, fmt.Errorf("--server: %w", err)
	}
	return entry{name: "relay-" + o.server, url: base + "/v1/servers/" + o.server + "/mcp", headerFile: o.headerFile}, nil
}

// relayURL is a relay's address without a trailing slash. Plain http is for
// loopback only, since the token goes there with every request.
func relayURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("it is no URL") // the parser's own words quote it
	}
	if u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.ContainsAny(text, "$ ") {
		return "", errors.New("it must be a host and perhaps a path, without user, query, fragment or variables")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopbackName(u.Hostname())) {
		return "", errors.New("it must begin with https, or with http where the relay is on this machine")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func loopbackName(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// object is a JSON object whose members are written in alphabetical order.
type object = map[string]any

// indented is JSON as people keep it in files.
func indented(value any) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // a URL's & stays one
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return b.String(), err
}
