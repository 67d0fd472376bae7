// Every variable the process reads, for config.ts, .env.example and the reference page: one list.

export interface ConfigVariable {
  readonly name: string;
  /** Literal, as one would write it; undefined when it is worked out. */
  readonly default: string | undefined;
  /** What holds instead of a literal default. */
  readonly otherwise?: string;
  readonly meaning: string;
}

export const CONFIG_VARIABLES: readonly ConfigVariable[] = [
  { name: 'HOST', default: '127.0.0.1', meaning: 'Address to listen on.' },
  { name: 'PORT', default: '8080', meaning: 'Port to listen on; 0 lets the system choose.' },
  {
    name: 'DATABASE_URL',
    default: undefined,
    otherwise: 'an embedded database in the data directory',
    meaning: 'PostgreSQL 15 or later.',
  },
  { name: 'KEYBEARER_DATA_DIR', default: './data', meaning: 'Embedded database and generated keys (files mode 0600).' },
  {
    name: 'KEYBEARER_PUBLIC_URL',
    default: undefined,
    otherwise: 'http://HOST:PORT',
    meaning: 'Origin in links, metadata and redirect URIs, perhaps with a path; never taken from request headers.',
  },
  {
    name: 'KEYBEARER_MASTER_KEY',
    default: undefined,
    otherwise: 'generated when embedded, else required',
    meaning:
      "Base64 of 32 bytes; wraps the tenants' data keys. A comma list allows rotation: the first seals, all open.",
  },
  {
    name: 'KEYBEARER_ADMIN_KEY',
    default: undefined,
    otherwise: 'generated and printed when embedded, else required',
    meaning: "Operator's key for the admin API.",
  },
  {
    name: 'KEYBEARER_CONFIG',
    default: undefined,
    otherwise: 'none',
    meaning: "Path of the operator's server file; the only place where commands (stdio) may be registered.",
  },
  {
    name: 'KEYBEARER_EGRESS_ALLOW',
    default: undefined,
    otherwise: 'none',
    meaning: 'Comma list of hosts, host:port or CIDR reachable although private, or on another port.',
  },
  {
    name: 'KEYBEARER_EGRESS_ALLOW_HTTP',
    default: 'false',
    meaning: 'Let http: URLs be used for hosts of the list above.',
  },
  {
    name: 'KEYBEARER_EGRESS_PORTS',
    default: '443,8443',
    meaning: 'Comma list of ports that may be reached at hosts that are not in the list above.',
  },
  {
    name: 'KEYBEARER_EGRESS_TRANSLATION',
    default: 'false',
    meaning: 'This host reaches IPv4 through NAT64 (64:ff9b::/96): let such addresses be used.',
  },
  {
    name: 'KEYBEARER_ALLOWED_HOSTS',
    default: undefined,
    otherwise: "the public URL's and loopback",
    meaning: 'Comma list of accepted Host headers.',
  },
  {
    name: 'KEYBEARER_ALLOWED_ORIGINS',
    default: undefined,
    otherwise: "the public URL's and loopback",
    meaning: 'Comma list of accepted Origin headers.',
  },
  {
    name: 'KEYBEARER_TRUST_PROXY',
    default: undefined,
    otherwise: 'none: the other end of the socket counts',
    meaning:
      'Fronts whose X-Forwarded-For is believed: a comma list of addresses and CIDR, or how many stand one behind the other.',
  },
  {
    name: 'KEYBEARER_ALLOW_LINK_SIGN_IN',
    default: 'false',
    meaning: 'Let a sign-in link alone prove the person although the public URL is not loopback.',
  },
  {
    name: 'KEYBEARER_IDLE_TIMEOUT_MS',
    default: '300000',
    meaning: "A principal's connection closes after this long without a call.",
  },
  {
    name: 'KEYBEARER_LIST_DEADLINE_MS',
    default: '5000',
    meaning: 'How long a list waits for slow servers before it answers without them.',
  },
  { name: 'KEYBEARER_SIGN_IN_WAIT_MS', default: '120000', meaning: 'How long a call waits for its person to sign in.' },
  {
    name: 'KEYBEARER_MAX_CONNECTIONS_PER_TENANT',
    default: '2000',
    meaning: 'Live upstream connections of one tenant.',
  },
  {
    name: 'KEYBEARER_MAX_COMMANDS_PER_TENANT',
    default: '64',
    meaning: 'Running commands (stdio servers) of one tenant, one for each person and server.',
  },
  {
    name: 'KEYBEARER_COMMAND_USER',
    default: undefined,
    otherwise: 'the user of the proxy',
    meaning: 'uid or uid:gid that commands run as; only when the proxy runs as root.',
  },
  {
    name: 'KEYBEARER_REQUESTS_PER_SECOND_PER_TENANT',
    default: undefined,
    otherwise: 'not counted',
    meaning: 'Requests a second that each node takes for one tenant.',
  },
  {
    name: 'KEYBEARER_REQUESTS_PER_SECOND_PER_PRINCIPAL',
    default: undefined,
    otherwise: 'not counted',
    meaning: 'Requests a second that each node takes for one person or service.',
  },
  { name: 'KEYBEARER_WORKERS', default: '1', meaning: 'Serving processes; only 1 in this version.' },
  { name: 'LOG_LEVEL', default: 'info', meaning: 'fatal, error, warn, info, debug, trace or silent.' },
];
