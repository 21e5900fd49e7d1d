package template_test

import (
	"fmt"
	"strconv"
	"strings"

	"mcprelay/shared/relay"
	"mcprelay/shared/session"
)

// pace is how many sessions a sweep closes in a second, at least (see
// relay.MaxSweep).
const pace = 10

// sweep: expired sessions are closed every few minutes, long before a store
// forgets them, by a function that can do a whole sweep and has ended before
// the next one begins.
func sweep(s stack) (found []string) {
	names := s.of("AWS::Events::Rule")
	if len(names) != 1 {
		return []string{fmt.Sprintf("there are %d schedules, want 1", len(names))}
	}
	rule := s.resource(names[0]).at("Properties")
	minutes, ok := strings.CutSuffix(rule.at("ScheduleExpression").text(), " minutes)")
	every, err := strconv.Atoi(strings.TrimPrefix(minutes, "rate("))
	if !ok || err != nil {
		return []string{"the schedule is " + rule.at("ScheduleExpression").text()}
	}
	if grace := session.ClosingGrace.Minutes(); float64(every)*100 > grace {
		found = append(found, fmt.Sprintf("a sweep every %d minutes has few tries within %v", every, session.ClosingGrace))
	}
	timeout := s.resource("ReconcileFunction").at("Properties", "Timeout").number()
	if least := float64(relay.MaxSweep)/pace + relay.RecordBudget.Seconds(); timeout < least || timeout >= float64(every*60) {
		found = append(found, fmt.Sprintf("the function ends after %v s, want more than %v and less than the schedule's %d", timeout, least, every*60))
	}
	targets := rule.at("Targets").list()
	if len(targets) != 1 || targets[0].at("Arn").text() != attribute("ReconcileFunction", "Arn") || targets[0].at("RetryPolicy", "MaximumRetryAttempts").text() != "0" {
		found = append(found, "the schedule starts "+rule.at("Targets").text())
	}
	if state := rule.at("State").text(); state != "" && state != "ENABLED" {
		found = append(found, "the schedule is "+state)
	}
	return append(found, once(s)...)
}

// once: a sweep that failed is not repeated, the next one does what it left.
func once(s stack) []string {
	for _, name := range s.of("AWS::Lambda::EventInvokeConfig") {
		p := s.resource(name).at("Properties")
		if p.at("FunctionName", "Ref").text() == "ReconcileFunction" && p.at("MaximumRetryAttempts").text() == "0" {
			return nil
		}
	}
	return []string{"Lambda repeats a sweep that failed"}
}
