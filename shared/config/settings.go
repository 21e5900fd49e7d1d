package config

import "mcprelay/shared/registry"

const settingKeys = "audit_intent audit_final audit_arguments explain_refusals max_servers on_policy_error require_turn"

// readSettings reads the tenant's choices. Whether refusals are explained
// where nothing is said depends on where the registration comes from.
func readSettings(o object, explain bool) registry.Settings {
	s := registry.DefaultSettings()
	s.AuditIntent = o.get("audit_intent").word(registry.IntentWrites, registry.IntentAll)
	s.AuditFinal = o.get("audit_final").word(registry.FinalBefore, registry.FinalAfter)
	s.AuditArguments = o.get("audit_arguments").word(registry.ArgumentsPreview, registry.ArgumentsDigest, registry.ArgumentsNone)
	s.ExplainRefusals = o.get("explain_refusals").flag(explain)
	if number, ok := o.get("max_servers").limit(); ok {
		o.get("max_servers").check(s.SetMaxServers(number))
	}
	s.OnPolicyError = o.get("on_policy_error").word(registry.PolicyErrorRefuse, registry.PolicyErrorAllow)
	s.RequireTurn = o.get("require_turn").word(registry.TurnNone, registry.TurnWrites, registry.TurnAll)
	return s
}
