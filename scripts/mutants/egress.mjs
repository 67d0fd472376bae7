// Guards of the way out, each taken away or weakened.
const CONNECTOR = 'src/upstream/egress/connector.ts';
const CHECK = 'src/upstream/egress/check-url.ts';
const REDIRECTS = 'src/upstream/egress/redirects.ts';
const FOLLOW = 'src/upstream/http-follow.ts';
const DOORS = 'src/upstream/egress/tenant-doors.ts';
const LINKS = 'src/app-links.ts';
const TOCTOU = 'test/upstream/egress/toctou.test.ts';
const CORPUS = 'test/upstream/egress/vectors-connector.test.ts';
const TABLE = 'test/upstream/egress/address-table.test.ts';
const OUTBOX = 'src/upstream/sse-outbox.ts';
const SSE_POST = 'src/upstream/sse-post.ts';
const SSE_SOCKETS = 'test/upstream/sse-sockets.test.ts';
const APART = 'test/e2e/sockets-apart.test.ts';

export const EGRESS = [
  {
    name: 'what the operator allowed leads back into the proxy',
    edits: [
      [CHECK, "  if (isHere && port === policy.ownPort()) throw denied('own_host');\n", ''],
      [CONNECTOR, 'isUs || (isOwnAddress', '(isOwnAddress'],
    ],
    tests: ['test/upstream/egress/policy.test.ts'],
  },
  {
    name: 'only new sockets are looked at, not each request',
    edits: [['src/upstream/egress/dispatcher.ts', '    this.#options.checkOrigin(origin);\n', '']],
    tests: ['test/upstream/egress/door.test.ts'],
  },
  {
    name: 'addresses in place of names are not checked',
    edits: [
      [
        CHECK,
        "else if (policy.refusalOf(address) !== undefined) throw denied('private_address', policy.refusalOf(address));",
        '',
      ],
      [CONNECTOR, '  requireAllowed(deps, target, target.host);\n', ''],
    ],
    tests: [TOCTOU],
  },
  {
    name: 'a name is checked, and looked up again for the dial',
    edits: [
      [
        CONNECTOR,
        '  const socket = await dialFirst(deps, target, addresses);',
        '  const again = target.address === undefined ? await deps.resolve(target.host, { isNamed: false }) : addresses;\n  const socket = await dialFirst(deps, target, again);',
      ],
    ],
    tests: [TOCTOU],
  },
  {
    name: 'the first answer decides for all',
    edits: [
      [
        CONNECTOR,
        'for (const answer of answers) requireAllowed',
        'for (const answer of answers.slice(0, 1)) requireAllowed',
      ],
    ],
    tests: [TOCTOU],
  },
  {
    name: 'answers are not copied',
    edits: [
      [
        CONNECTOR,
        'Array.from(await deps.resolve(target.host, { isNamed: target.isNamed }), String)',
        '(await deps.resolve(target.host, { isNamed: target.isNamed }))',
      ],
      [CONNECTOR, 'return [...new Set(answers)].slice(0, MAX_DIALS);', 'return answers;'],
    ],
    tests: [TOCTOU],
  },
  {
    name: 'an answer is read again for the dial',
    edits: [
      [
        CONNECTOR,
        'Array.from(await deps.resolve(target.host, { isNamed: target.isNamed }), String)',
        'Array.from(await deps.resolve(target.host, { isNamed: target.isNamed }))',
      ],
      [CONNECTOR, 'requireAllowed(deps, target, answer);', 'requireAllowed(deps, target, String(answer));'],
      [CONNECTOR, 'address: text,', 'address: String(text),'],
    ],
    tests: [TOCTOU],
  },
  {
    name: 'RFC 1918 and loopback only',
    edits: [
      [
        'src/upstream/egress/address-table.ts',
        'const TABLE: readonly { readonly range: AddressRange; readonly name: string }[] = [...REFUSED_4, ...REFUSED_6].map(',
        "const TABLE: readonly { readonly range: AddressRange; readonly name: string }[] = [...REFUSED_4, ...REFUSED_6].filter(([, name]) => name === 'private use' || name === 'loopback').map(",
      ],
    ],
    tests: [TABLE],
  },
  {
    name: 'IPv6 beyond global unicast is let through',
    edits: [
      [
        'src/upstream/egress/address-table.ts',
        "if (!isWithin(address, GLOBAL_UNICAST)) return 'outside global unicast';",
        '',
      ],
    ],
    tests: [TABLE],
  },
  {
    name: 'nobody looks at the peer',
    edits: [[CONNECTOR, '      requirePeer(deps, target, text, socket);\n', '']],
    tests: [TOCTOU],
  },
  {
    name: 'what a name resolved to is remembered',
    edits: [
      [
        CONNECTOR,
        '/** All of them or none:',
        'const seen = new Map<string, readonly string[]>();\n/** All of them or none:',
      ],
      [
        CONNECTOR,
        '  // Copied as text before',
        '  const known = seen.get(target.host);\n  if (known !== undefined) return known;\n  // Copied as text before',
      ],
      [
        CONNECTOR,
        'return [...new Set(answers)].slice(0, MAX_DIALS);',
        'seen.set(target.host, answers);\n  return answers;',
      ],
    ],
    tests: [TOCTOU],
  },
  {
    name: 'names that are never public are looked up',
    edits: [[CHECK, "  if (isInsideName(host)) throw denied('private_host');\n", '']],
    tests: ['test/upstream/egress/vectors-url.test.ts'],
  },
  {
    name: 'every port is let through',
    edits: [[CHECK, 'const isOrdinary = isTls && policy.ports.has(port);', 'const isOrdinary = isTls;']],
    tests: ['test/upstream/egress/vectors-url.test.ts'],
  },
  {
    name: 'a request with a key follows a redirect to another origin',
    edits: [
      [
        REDIRECTS,
        "  if (hop.carriesCredential && !isSameOrigin) throw refused(status, 'it leads to another origin');\n",
        '',
      ],
    ],
    tests: [CORPUS],
  },
  {
    name: 'headers are kept on the way to another origin',
    edits: [[FOLLOW, 'next.isSameOrigin ? request.headers : plainHeaders(request.headers)', 'request.headers']],
    tests: [CORPUS],
  },
  {
    name: 'redirects are followed for ever',
    edits: [[REDIRECTS, "  if (followed >= MAX_REDIRECTS) throw refused(status, 'it is one too many');\n", '']],
    tests: [CORPUS],
  },
  {
    name: 'where a redirect leads is not checked',
    edits: [
      [REDIRECTS, '  if (/^[a-z][a-z0-9+.-]*:/i.test(location)) checkUrl(location, policy);\n', ''],
      [REDIRECTS, '  checkUrl(target.href, policy);\n', ''],
      [
        CHECK,
        "else if (policy.refusalOf(address) !== undefined) throw denied('private_address', policy.refusalOf(address));",
        '',
      ],
      [CONNECTOR, '  requireAllowed(deps, target, target.host);\n', ''],
    ],
    tests: [CORPUS],
  },
  {
    name: 'a redirect elsewhere has the exceptions of the operator, and the sockets of what is registered',
    edits: [
      [
        FOLLOW,
        'dispatcher: door.elsewhere, policy: door.policy.withoutExceptions',
        'dispatcher: door.dispatcher, policy: door.policy',
      ],
    ],
    tests: ['test/upstream/egress/elsewhere.test.ts'],
  },
  {
    name: 'the product opens its doors for redirects with the exceptions of the operator',
    edits: [[LINKS, 'policy: policy.withoutExceptions };', 'policy };']],
    tests: ['test/e2e/egress-elsewhere.test.ts'],
  },
  {
    name: 'the product sends redirects elsewhere through the doors for calls',
    edits: [[LINKS, 'elsewhere: elsewhere.of(tenantId)', 'elsewhere: calls.of(tenantId)']],
    tests: ['test/e2e/egress-elsewhere.test.ts'],
  },
  {
    name: 'what follows a redirect elsewhere has the exceptions again',
    edits: [
      [FOLLOW, 'if (next.origin !== request.origin)\n', 'lane = door;\n    if (next.origin !== request.origin)\n'],
    ],
    tests: ['test/upstream/egress/elsewhere.test.ts'],
  },
  {
    name: 'all tenants share sockets',
    edits: [[DOORS, 'this.#lanes.get(tenantId)?.deref()', 'this.#lanes.values().next().value?.deref()']],
    tests: [APART],
  },
  {
    name: 'sign-ins of all tenants share sockets',
    edits: [
      [LINKS, 'createDoorFetch(signIns.of(tenantId)', "createDoorFetch((tenantId, signIns.of('all' as TenantId))"],
    ],
    tests: [APART],
  },
  {
    name: 'streams of all tenants share sockets',
    edits: [[LINKS, 'streams: streams.of(tenantId)', "streams: streams.of('all' as TenantId)"]],
    tests: [APART],
  },
  {
    name: 'redirects elsewhere of all tenants share sockets',
    edits: [[LINKS, 'elsewhere: elsewhere.of(tenantId)', "elsewhere: elsewhere.of('all' as TenantId)"]],
    tests: [APART],
  },
  {
    name: 'proofs of people at identity providers share sockets',
    edits: [
      [
        'src/app-credentials.ts',
        'createPersonSignIn(oauth)',
        "createPersonSignIn({ ...oauth, fetchOf: () => oauth.fetchOf('all' as Parameters<typeof oauth.fetchOf>[0]) })",
      ],
    ],
    tests: [APART],
  },
  {
    name: 'a tenant made anew finds the sockets of the deleted one',
    edits: [[LINKS, "if (change.kind === 'tenants') doors.setAside(change.tenantId);", '']],
    tests: [APART],
  },
  {
    name: 'a node is not told of the tenant it made anew',
    edits: [
      [
        'src/identity/announced.ts',
        "if (created !== undefined) announce({ kind: 'tenants', tenantId: created.id });",
        'if (created !== undefined) void announce;',
      ],
    ],
    tests: ['test/identity/announced.test.ts'],
  },
  {
    name: 'the way out that a deleted tenant still has leads to the door of the new one',
    edits: [[DOORS, '    this.#lanes.delete(tenantId);\n  }', '    this.#lanes.get(tenantId)?.deref()?.shut();\n  }']],
    tests: ['test/upstream/egress/tenant-doors.test.ts'],
  },
  {
    name: 'streams of HTTP+SSE of all tenants share sockets',
    edits: [
      [
        LINKS,
        'stream: createDoorFetch(streams.of(tenantId)',
        "stream: createDoorFetch((tenantId, streams.of('all' as TenantId))",
      ],
    ],
    tests: [APART],
  },
  {
    name: 'what is posted over HTTP+SSE takes as many sockets as it likes',
    edits: [[LINKS, 'calls: calls.of(tenantId)', 'calls: streams.of(tenantId)']],
    tests: ['test/e2e/sse-sockets.test.ts'],
  },
  {
    name: 'what is posted over HTTP+SSE by all tenants shares sockets',
    edits: [[LINKS, 'calls: calls.of(tenantId)', "calls: calls.of('all' as TenantId)"]],
    tests: [APART],
  },
  {
    name: 'a POST outlives the answer to its call',
    edits: [[OUTBOX, 'if (isAnswered) cancel = this.#clock.after(ANSWERED_MS, end);', 'if (isAnswered) return;']],
    tests: [SSE_SOCKETS],
  },
  {
    name: 'a POST outlives its cancelled call',
    edits: [[OUTBOX, 'else end();', '']],
    tests: [SSE_SOCKETS],
  },
  {
    name: 'a POST that nobody waits for is never given up',
    edits: [
      [OUTBOX, 'isAwaited ? undefined : this.#clock.after(UNAWAITED_MS, end)', 'undefined as (() => void) | undefined'],
    ],
    tests: [SSE_SOCKETS],
  },
  {
    name: 'a POST outlives its connection',
    edits: [['src/upstream/sse-link.ts', '    this.#outbox.close();\n', '']],
    tests: [SSE_SOCKETS],
  },
  {
    name: 'a call that waits loses its POST',
    edits: [[OUTBOX, 'isAwaited ? undefined : this.#clock', 'this.#clock']],
    tests: [SSE_SOCKETS],
  },
  {
    name: 'what follows the head of an answer to a POST holds its socket',
    edits: [[SSE_POST, '    this.#linger = this.#clock.after(LINGER_MS, () => this.#stop?.());\n', '']],
    tests: [SSE_SOCKETS],
  },
  {
    name: 'a message goes out though its call ended while it waited for a socket',
    edits: [[SSE_POST, '    if (this.#signal.aborted) abort(this.#signal.reason as Error);\n', '']],
    tests: [SSE_SOCKETS],
  },
  {
    name: 'a door in use is closed',
    edits: [[DOORS, '      if (lane.door?.isEmpty !== true) continue;\n', '']],
    tests: ['test/upstream/egress/tenant-doors.test.ts'],
  },
  {
    name: 'doors of tenants are never closed',
    edits: [[DOORS, '      if (lane.door?.isEmpty !== true) continue;\n', '      continue;\n']],
    tests: ['test/upstream/egress/tenant-doors.test.ts'],
  },
  {
    name: 'after the end a tenant gets a new door',
    edits: [[DOORS, 'if (this.#isClosed) void door.destroy();\n    else ', '']],
    tests: ['test/upstream/egress/tenant-doors.test.ts'],
  },
];
