package mcprelay.policy

deny contains "only reads are allowed here" if input.relay.effect != "read"
