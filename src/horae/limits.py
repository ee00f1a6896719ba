"""Every runtime limit: its unit is in its name, its reason beside it. A job or the config may lower some of them."""

# Definitions
JOB_FILE_BYTES_MAX = 256 * 1024  # a prompt of a hundred pages; more is a mistake or an attack
SCRIPT_BYTES_MAX = 1024 * 1024  # of a script that is handed on as text; more is a program, and is installed
NAME_CHARS_MAX = 200  # fits a calendar title and a terminal line
PATH_CHARS_MAX = 4096  # of a path in a job file: systems take no longer one
SCHEDULE_CHARS_MAX = 4096  # an RRULE with long lists; parsing cost grows with it
VANISHED_MIN = 3  # the mass-delete guard: more files than this ...
VANISHED_SHARE = 0.2  # ... and more than this share of all jobs gone at once are held, not removed

# Time
INTERVAL_MIN_S = 1  # slots are whole seconds
ONE_SHOT_GRACE_S = 60.0  # an instant that passed while somebody typed it is still meant
HORIZON_YEARS = (
    40  # a rule without a slot in so many years never fires (29 February on a given weekday: 28, or 40 over 2100)
)
RULE_INTERVAL_MAX = 1_000_000  # INTERVAL of an RRULE: two years of minutes; more is a mistake
RULE_COUNT_MAX = 1_000_000  # COUNT of an RRULE ...
RULE_COUNT_YEARS = 100  # ... which must be used up within so many years: looking for its end costs a step a month
RULES_MAX = 40  # RRULEs of one schedule: each is searched by itself
RULE_PARTS_MAX = 2000  # values in all BY lists of a schedule, and single dates: the cost of reading grows with them
MISSED_ROWS_MAX = 100  # more missed slots than this become one span row
MISSED_COUNT_MAX = 1_000_000  # counting stops here and says so

# Policies
CATCH_UP_GRACE_S = 60.0  # with `catch_up: skip` a slot that is this late still runs: a restart takes some seconds
CATCH_UP_ALL_MAX = 1000  # slots that `catch_up: all` makes up for: six weeks of an hourly job; older ones are missed
QUEUE_MAX = 1000  # slots of one job that wait in its queue: each has a row that is looked at whenever a run ends
RETRIES_MAX = 100  # with the ceiling of an hour they take four days: whoever needs more has an outage, not a failure
BACKOFF_DEFAULT_S = 30.0  # before the first retry: most outages that pass by themselves last longer than an instant
CEILING_DEFAULT_S = 600.0  # a retry every ten minutes harms nobody, and is soon enough when the trouble ends
SPREAD_MAX_S = 86400  # a day: more would put a slot behind the next ones of nearly all schedules
LATENESS_MAX_S = 366 * 86400  # of `not_later_than`: a year is as good as no limit
PRIORITY_MAX = 100
NAMES_MAX = 32  # calendars, labels, secrets or targets that one job names
CALENDAR_DAYS_MAX = 20_000  # days that one exclusion calendar lists, ranges counted in full: kept in memory
CALENDAR_EVENTS_MAX = 500  # events that recur in one: each is looked at for each slot, in some microseconds
CALENDAR_BYTES_MAX = 4 * 1024 * 1024  # of an iCalendar file: one that a person keeps for years has some hundred KiB
EXCLUDED_LOOK_MAX = 2000  # excluded slots that are passed over in one look: more than a day of minutes

# Engine
CLAIM_BATCH_MAX = 1000  # rows claimed in one transaction: bounds its length to some tens of milliseconds
LEASE_S = 30.0  # how long a gateway counts as alive that nobody can look at; renewed three times in that
LEASE_MARGIN_S = 3.0  # a gateway trusts its own lease so much less: clocks of machines do not run quite alike
HANDOVER_S = 600.0  # how long the runs stay its own that a gateway leaves behind when it is stopped
POLL_S = 5.0  # where several gateways share a store: the net below a notice that was lost
SHARED_AHEAD = 2  # times its live runs: what one of several gateways claims ahead at most, if as many ended in a second
PARALLEL_DEFAULT = 16  # live runs of one gateway
REST_S, REST_MAX_S = 5.0, 60.0  # while the machine has no room for any process; it doubles from one to the other
GROW_S = 10.0  # after that without a refusal a quarter more runs may be live, up to what the settings say
WAIT_MAX_S = 60.0  # the net below wake-ups: the gateway looks at the store at least this often
DRAIN_S = 20.0  # how long a stopping gateway waits for live runs; what is live then goes on without it
STEP_NOTICED_S = 2.0  # a clock that moved by more than this against the monotonic one was stepped

# Runs
WALL_DEFAULT_S = 3600.0  # a script that says nothing about it is ended after an hour
KILL_GRACE_S = 5.0  # between TERM and KILL
KEPT_BYTES_MAX = (
    256 * 1024
)  # of each stream, in the record; the middle is cut, the cut is said, and the whole is a file
OUTPUT_BYTES_DEFAULT = 100 * 1024 * 1024  # more than this on both streams is a loop that prints
PROCESSES_DEFAULT = 1000  # at once: a build may take some hundred; a fork bomb passes it within a second
SHIMS_WARM = 2  # kept ready for the next run
SHIM_IDLE_S = 60.0  # those beyond that end after so long without a run
SPOOL_BYTES = 4 * 1024 * 1024  # a spool that has grown beyond this is begun anew, once all of it has been collected
MESSAGE_CHARS_MAX = 8000  # of a failure's evidence in an alert
ATTACHMENTS_MAX = 20  # files that one result names: more is a folder, and is sent as an archive
CONFIG_BYTES_MAX = 4 * 1024 * 1024  # of a config.toml that a command changes: ten thousand models have one
SECRET_BYTES_MAX = 64 * 1024  # of one value that is set by a command: keys and certificates have a few KiB
SECRETS_BYTES_MAX = 1024 * 1024  # of secrets.toml: it is kept in memory, and each value is looked for in all output
MEMORY_BYTES_MIN = 1024 * 1024  # of `limits.memory`: no program starts in less, and `512` was meant as `512M`

# Prompts and skills
PROMPT_CHARS_MAX = 200_000  # of all that an agent is sent at first: about 50,000 tokens, before it has done anything
CONTEXT_CHARS_MAX = 8000  # of one earlier result in it
OUTPUT_CHARS_MAX = 32_000  # of the output of its script
DIFF_CHARS_MAX = 4000  # of how that differs which it watches ...
WATCHED_CHARS_MAX = 8000  # ... and of how it is now
SKILL_TEXT_BYTES_MAX = 64 * 1024  # of a SKILL.md: whoever has more to say puts it into files beside it
SKILL_FILES_MAX = 64  # in a skill's folder
SKILL_BYTES_MAX = 1024 * 1024  # of all of them: each run's hash is over all of it
SKILL_DEPTH_MAX = 4  # folders in folders of a skill
SKILLS_MAX = 200  # that one home has

# Agents
CONTEXT_AGE_DEFAULT_S = 7 * 86400.0  # results of other jobs that are older say nothing about today ...
CONTEXT_AGE_MAX_S = 366 * 86400  # ... unless a job says so
SCHEMA_CHARS_MAX = 20_000  # of a JSON schema: it goes with each call
URL_CHARS_MAX = 2000
TURNS_DEFAULT = 50  # model calls of a run: whoever needs more is lost, or says so
TOKENS_DEFAULT = 1_000_000  # of a run whose job and settings say nothing: a long day's work of an agent, and no more
DAY_SHARE = 0.25  # of a day's budget that a run without a limit of its own may reserve: some others find something left
CAUSES_MAX = 20  # runs of which each started the next one by `after`: a chain that long goes round in a circle
GO_ON_DEFAULT_S = 60.0  # until a run goes on that was given back without a word about when
SCRIPT_OF_AGENT_S = 600.0  # of the script before an agent: it collects, and the agent does the work
AGENT_IDLE_DEFAULT_S = 600.0  # an agent that says nothing for so long hangs: an answer takes a minute or two

# Who hears of it
TARGET_CHARS_MAX = 400  # of a target: an address of mail has up to 254, and no chat's id is longer
EXPECT_EVERY_MIN_S, EXPECT_EVERY_MAX_S = 60.0, 366 * 86400.0  # of `expect_every`: sooner is every run, later is never
IN_A_ROW_MAX = 1000  # runs in a row, of `expect_output` and `pause_after`
SENDS_MAX = 8  # messages that one gateway has under way at once, each to another address
SEND_GRACE_S = 5.0  # past a platform's own time-out a send is given up, whatever its library does
TRY_AGAIN_S, TRY_AGAIN_MAX_S = 5.0, 900.0  # before a message is tried again; it doubles from one to the other
DIGEST_MAX = 200  # messages in one digest: more are many digests
DIGEST_CHARS_MAX = 2000  # of each message in it; the whole is in the history
REMINDERS_MAX = 30  # of one incident: whoever has not looked after a month will not
INCIDENT_CHARS_MAX = 200  # of the cause that failures are grouped by

# Exports of the journal
EXPORT_LINE_CHARS_MAX = 16 * 1024 * 1024  # one entry: an edit holds its file twice, escaped twice; the head, all chains
EXPORT_WHOLE_CHARS_MAX = 64 * 1024 * 1024  # of one that was laid out anew: it has to be held in memory as a whole

# Control socket
REQUEST_BYTES_MAX = 1024 * 1024  # one request line
ANSWER_TIMEOUT_S = 5.0  # a gateway that does not answer within this is stuck
