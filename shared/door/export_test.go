package door

// LookEvery is the grain of deadlines.
const LookEvery = lookEvery
