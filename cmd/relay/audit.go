package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
	"mcprelay/shared/store/local"
)

type auditOptions struct {
	data                              string
	agent, server, tool, run, outcome string
	since, until                      string
	limit                             int
	json                              bool
}

func auditCommand() *cobra.Command {
	var o auditOptions
	command := &cobra.Command{
		Use:   "audit",
		Short: "Read the audit trail, newest first",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return printAudit(c.Context(), o, c.OutOrStdout()) },
	}
	f := command.Flags()
	f.StringVar(&o.data, "data", "relay-data", "the `folder` of the local store")
	f.StringVar(&o.agent, "agent", "", "only of this `agent`")
	f.StringVar(&o.server, "server", "", "only of this `server`")
	f.StringVar(&o.tool, "tool", "", "only of this upstream `tool`")
	f.StringVar(&o.run, "run", "", "only of this `run`")
	f.StringVar(&o.outcome, "outcome", "", "only with this `outcome`")
	f.StringVar(&o.since, "since", "", "only from this `time` on (RFC 3339, or a duration before now such as 2h)")
	f.StringVar(&o.until, "until", "", "only before this `time` (the same forms)")
	f.IntVar(&o.limit, "limit", 100, "at most this `number` of records")
	f.BoolVar(&o.json, "json", false, "one JSON object a line")
	return command
}

func (o auditOptions) filter(now time.Time) (audit.Filter, error) {
	filter := audit.Filter{Agent: o.agent, Server: o.server, Tool: o.tool, Run: o.run, Outcome: call.Outcome(o.outcome)}
	var err error
	if filter.Since, err = moment(o.since, now); err != nil {
		return filter, &usageError{fmt.Errorf("--since: %w", err)}
	}
	if filter.Until, err = moment(o.until, now); err != nil {
		return filter, &usageError{fmt.Errorf("--until: %w", err)}
	}
	if o.limit < 1 {
		return filter, &usageError{errors.New("--limit: must be at least 1")}
	}
	return filter, nil
}

// moment reads an RFC 3339 time or a duration before now.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither an RFC 3339 time nor a duration", text)
	}
	return at, nil
}

func printAudit(ctx context.Context, o auditOptions, w io.Writer) (err error) {
	filter, err := o.filter(time.Now())
	if err != nil {
		return err
	}
	store, err := local.OpenExisting(o.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	defer func() { err = errors.Join(err, out.Flush()) }()
	if !o.json {
		fmt.Fprintln(out, "TIME\tAGENT\tSERVER\tABOUT\tDECISION\tOUTCOME\tREASON\tMS\tCALL")
	}
	for left := o.limit; left > 0; {
		filter.Limit = min(left, audit.MaxPage)
		records, cursor, err := store.Audit(ctx, filter)
		if err != nil {
			return err
		}
		for _, record := range records {
			if err := printRecord(w, out, record, o.json); err != nil {
				return err
			}
		}
		left -= len(records)
		if cursor == "" {
			return nil
		}
		filter.Cursor = cursor
	}
	return nil
}

func printRecord(w, table io.Writer, r audit.Record, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", line)
		return err
	}
	outcome := string(r.Outcome)
	if r.State == audit.StateIntent {
		outcome = "(open)"
	}
	_, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%s\n", r.Time.Format(time.RFC3339), plain(r.Agent), plain(r.Server), plain(r.About), r.Decision, outcome, r.Reason, r.DurationMS, r.CallID)
	return err
}

// plain shows what a terminal would act on, or a name could hide behind, as
// escapes.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
