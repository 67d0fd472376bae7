// Guards between tenants, people and agents, and those of keys, pages and budgets, each taken away or weakened.
const SIGNATURE = 'src/identity/jwt-signature.ts';
const TOKENS = 'test/identity/signed-token.test.ts';
const BOX = 'src/credential/sealed-box.ts';
const STATE = 'src/proxy/request-state.ts';
const POLICIES = 'migrations/0007_row_level_security.sql';
const OWN_TENANT = "        USING (tenant_id = NULLIF(current_setting('app.tenant', true), ''))";

export const WALLS = [
  // Who is asking
  {
    name: 'a session is open to whoever knows its id',
    edits: [
      [
        'src/agent/sessions.ts',
        'if (session === undefined || session.callerKey !== caller.key || session.agentId !== caller.agentId)\n      return undefined;',
        'if (session === undefined) return undefined;',
      ],
    ],
    tests: ['test/agent/sessions.test.ts'],
  },
  {
    name: 'tokens for another audience are taken',
    edits: [
      [
        'src/identity/audience.ts',
        "typeof one === 'string' && isOurs(withoutSlash(one), expected)",
        "typeof one === 'string'",
      ],
    ],
    tests: [TOKENS],
  },
  {
    name: 'every algorithm is taken',
    edits: [[SIGNATURE, '    algorithms: allowedAlgorithms(issuer),\n', '']],
    tests: [TOKENS],
  },
  {
    name: 'tokens that never end are taken',
    edits: [
      [SIGNATURE, "'aud', 'exp', 'iat',", "'aud',"],
      [SIGNATURE, '    maxTokenAge: MAX_AGE_S,\n', ''],
    ],
    tests: [TOKENS],
  },
  {
    name: 'every Host is let in',
    edits: [['src/agent/gatekeeper.ts', '      if (!hostIsAllowed(host)) return 403;\n', '']],
    tests: ['test/e2e/host-origin.test.ts'],
  },
  {
    name: 'every Origin is let in',
    edits: [
      [
        'src/agent/gatekeeper.ts',
        'return origin === undefined || originIsAllowed(origin) ? undefined : 403;',
        'return undefined;',
      ],
    ],
    tests: ['test/e2e/host-origin.test.ts'],
  },
  // Whose connection, whose state
  {
    name: 'one connection for all versions of a credential',
    edits: [['src/connection/connection-key.ts', '\\u0000${credential.version}`;', '`;']],
    tests: ['test/connection/pool.test.ts'],
  },
  {
    name: 'one connection for whoever has a credential',
    edits: [
      ['src/connection/connection-key.ts', '`${ownerKey(credential.owner)}\\u0000${credential.version}`', "'some'"],
    ],
    tests: ['test/connection/pool.test.ts'],
  },
  {
    name: 'a requestState opens for every call of its tenant',
    edits: [
      [
        STATE,
        'vault.open(of.caller.tenantId, contextOf(of), sealed)',
        "vault.open(of.caller.tenantId, contextOf({ ...of, caller: { ...of.caller, key: '', principalId: '' as never, agentId: '' }, tool: undefined, params: {} }), sealed)",
      ],
      [
        STATE,
        'vault.seal(of.caller.tenantId, contextOf(of), plaintext)',
        "vault.seal(of.caller.tenantId, contextOf({ ...of, caller: { ...of.caller, key: '', principalId: '' as never, agentId: '' }, tool: undefined, params: {} }), plaintext)",
      ],
    ],
    tests: ['test/proxy/request-state.test.ts'],
  },
  {
    name: 'a requestState is good for ever',
    edits: [[STATE, '      if (expiresAt <= clock.now()) throw notOurs();\n', '']],
    tests: ['test/proxy/request-state.test.ts'],
  },
  // The database
  {
    name: 'no row-level security: every row shows itself',
    edits: [[POLICIES, OWN_TENANT, '        USING (true)']],
    tests: ['test/store/row-security-matrix.test.ts'],
  },
  {
    name: 'rows may be written for another tenant',
    edits: [
      [
        POLICIES,
        "        WITH CHECK (tenant_id = NULLIF(current_setting('app.tenant', true), ''))$policy$",
        '        WITH CHECK (true)$policy$',
      ],
    ],
    tests: ['test/store/row-security-matrix.test.ts'],
  },
  {
    name: 'the owner of the tables is not bound by the policies',
    edits: [[POLICIES, "    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);\n", '']],
    tests: ['test/store/row-security-catalogue.test.ts'],
  },
  {
    name: 'the tenant of a transaction stays with its connection',
    edits: [['src/store/transaction.ts', "'SELECT set_config($1, $2, true)'", "'SELECT set_config($1, $2, false)'"]],
    tests: ['test/store/row-security-scopes.test.ts'],
  },
  {
    name: 'a link is used as often as one likes',
    edits: [['src/store/tickets.ts', ' AND (used_at IS NULL OR used_by = $4)', ' AND ($4 = $4 OR $4 IS NULL)']],
    tests: [
      'test/store/identity.test.ts',
      'test/credential/tickets.test.ts',
      'test/store/credentials.test.ts',
      'test/e2e/connect.test.ts',
    ],
  },
  // Keys at rest and on their way
  {
    name: 'sealed without associated data',
    edits: [
      [BOX, '{ authTagLength: TAG_BYTES }).setAAD(toAad(words));', '{ authTagLength: TAG_BYTES }).setAAD(toAad([]));'],
      [BOX, '.setAAD(toAad(words)).setAuthTag(tag)', '.setAAD(toAad([])).setAuthTag(tag)'],
    ],
    tests: ['test/credential/vault.test.ts'],
  },
  {
    name: 'associated data that is joined with a sign',
    edits: [[BOX, 'Buffer.from(JSON.stringify(words))', "Buffer.from(words.flat().join('|'))"]],
    tests: ['test/credential/vault.test.ts'],
  },
  {
    name: 'a key that a server repeats reaches the agent',
    edits: [
      [
        'src/upstream/echo.ts',
        'if (!this.#needles.areIn(bytes)) return bytes;',
        'if (bytes.length >= 0) return bytes;',
      ],
    ],
    tests: ['test/upstream/echo.test.ts'],
  },
  {
    name: 'a secret prints itself',
    edits: [
      [
        'src/shared/secret.ts',
        "  toJSON(): string {\n    return '[secret]';",
        '  toJSON(): string {\n    return this.#value;',
      ],
    ],
    tests: ['test/e2e/secrecy.test.ts', 'test/pins/secrets.test.ts', 'test/credential/secret-value.test.ts'],
  },
  // Commands and pages
  {
    name: 'the API takes commands',
    edits: [
      [
        'src/catalog/definition-transport.ts',
        "    root.refuse('command', NO_COMMANDS_HERE);\n    return undefined;\n",
        '',
      ],
    ],
    tests: ['test/admin/servers.test.ts'],
  },
  {
    name: 'only the leader of a group of processes is ended',
    edits: [
      ['src/upstream/stdio-process.ts', 'process.kill(-pid, signal);', 'process.kill(pid, signal);'],
      ['src/upstream/stdio-family.ts', '    process.kill(pid, signal);', '    void pid;'],
    ],
    tests: ['test/upstream/stdio-process.test.ts'],
  },
  {
    name: 'names are not escaped on pages',
    edits: [['src/consent/html.ts', ".replace(/[&<>\"'`]/g, (char) => ESCAPES[char] ?? '')", '']],
    tests: ['test/consent/site.test.ts', 'test/consent/browser-rules.test.ts'],
  },
  {
    name: 'posts of other sites are taken',
    edits: [
      [
        'src/consent/express.ts',
        'if (isOwnPost(sender, publicUrl())) next();',
        'if (isOwnPost(sender, publicUrl()) || sender) next();',
      ],
    ],
    tests: ['test/consent/own-posts.test.ts'],
  },
  // Shares and budgets
  {
    name: 'nobody counts',
    edits: [
      ['src/limits/meter.ts', 'const isRefused = waitMs > stepMs / 1_000;', 'const isRefused = waitMs > Infinity;'],
    ],
    tests: ['test/limits/meter.test.ts', 'test/limits/strangers.test.ts'],
  },
  {
    name: 'X-Forwarded-For is believed of everybody',
    edits: [
      ['src/limits/client-address.ts', 'if (peer === undefined || !isTrusted(peer)) {', 'if (peer === undefined) {'],
      ['src/limits/client-address.ts', 'at >= 0 && isTrusted(address); at--', 'at >= 0; at--'],
    ],
    tests: ['test/limits/client-address.test.ts'],
  },
  {
    name: 'messages may be nested without end',
    edits: [['src/agent/message-bounds.ts', 'if (++depth > MAX_DEPTH)', 'if (++depth > Infinity)']],
    tests: ['test/agent/message-bounds.test.ts'],
  },
  {
    name: 'answers may be of any size once unpacked',
    edits: [
      [
        'src/upstream/http-exchange.ts',
        'else if (this.#bytes <= this.#limit) this.#pile.add(chunk);',
        'else if (this.#bytes <= Infinity) this.#pile.add(chunk);',
      ],
    ],
    tests: ['test/upstream/http-exchange.test.ts'],
  },
];
