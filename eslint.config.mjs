// Types do most of the checking; the rules here hold what types cannot say: where time, the
// environment and the network may be touched. Layout is Biome's, layers are dependency-cruiser's.
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const TIME = 'Take a Clock (src/shared/clock.ts), so that a test can own the time.';
const ENVIRONMENT = 'Take the value as a parameter; only config.ts and main.ts read the environment.';
const NETWORK = 'Everything that leaves the process leaves through src/upstream/egress.';
const CHILDREN = 'Children are started in src/upstream (servers) and src/store (the embedded database) only.';

const time = {
  globals: ['setTimeout', 'setInterval'].map((name) => ({ name, message: TIME })),
  properties: [
    { object: 'Date', property: 'now', message: TIME },
    { object: 'performance', property: 'now', message: TIME },
    { object: 'AbortSignal', property: 'timeout', message: TIME },
    { object: 'process', property: 'hrtime', message: TIME },
  ],
  imports: ['timers', 'timers/promises', 'perf_hooks'].map((name) => ({ name: `node:${name}`, message: TIME })),
  syntax: [{ selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: TIME }],
};

const environment = {
  properties: [{ object: 'process', property: 'env', message: ENVIRONMENT }],
  imports: [{ name: 'node:process', importNames: ['env'], message: ENVIRONMENT }],
};

const DIALS = {
  http: ['request', 'get'],
  https: ['request', 'get'],
  http2: ['connect'],
  net: ['connect', 'createConnection'],
  tls: ['connect'],
};
const network = {
  globals: ['fetch', 'WebSocket', 'EventSource'].map((name) => ({ name, message: NETWORK })),
  properties: Object.entries(DIALS).flatMap(([object, names]) =>
    names.map((property) => ({ object, property, message: NETWORK })),
  ),
  imports: [
    { name: 'undici', message: NETWORK },
    // It fetches by itself, past the egress guard.
    { name: 'jose', importNames: ['createRemoteJWKSet'], message: NETWORK },
    ...Object.entries(DIALS).map(([name, importNames]) => ({ name: `node:${name}`, importNames, message: NETWORK })),
    // Looking a name up is half of dialling it.
    ...['dns', 'dns/promises'].map((name) => ({ name: `node:${name}`, message: NETWORK })),
  ],
};
/** The links know the library's types and nothing of it that dials. */
const DIALLERS = ['Agent', 'Client', 'Pool', 'BalancedPool', 'RoundRobinPool', 'ProxyAgent', 'EnvHttpProxyAgent'];
const FETCHERS = ['fetch', 'request', 'stream', 'pipeline', 'connect', 'upgrade', 'WebSocket', 'EventSource'];
const networkOfLinks = {
  ...network,
  imports: network.imports.map((path) =>
    path.name === 'undici'
      ? { ...path, importNames: [...DIALLERS, ...FETCHERS, 'buildConnector', 'setGlobalDispatcher'] }
      : path,
  ),
};

const REVEAL = 'A secret is revealed where it is used, and never into a log or an error.';
const DESCRIBE = "Log describeError(error): a library's message quotes what it choked on.";
const LOG = 'CallExpression[callee.property.name=/^(trace|debug|info|warn|error|fatal)$/]';
const secrecy = {
  syntax: [
    ...[LOG, 'NewExpression[callee.name=/(Error|Problem|Refusal|Unavailable)$/]', 'ThrowStatement'].map((where) => ({
      selector: `${where} CallExpression[callee.property.name="reveal"]`,
      message: REVEAL,
    })),
    {
      selector: `${LOG} MemberExpression[property.name=/^(message|stack|cause|headers|query|search|originalUrl|body)$/]`,
      message: DESCRIBE,
    },
    { selector: `${LOG} > Identifier[name=/^(error|cause|reason)$/]`, message: DESCRIBE },
    { selector: `${LOG} Property[key.name=/^(err|error|cause)$/] > Identifier.value`, message: DESCRIBE },
  ],
};

const children = { imports: [{ name: 'node:child_process', message: CHILDREN }] };

/** One set of bans for some files. ESLint replaces a rule's options, it does not add to them; so each set is whole. */
function ban(...parts) {
  const all = (key) => parts.flatMap((part) => part[key] ?? []);
  return {
    'no-restricted-globals': ['error', ...all('globals')],
    'no-restricted-properties': ['error', ...all('properties')],
    'no-restricted-imports': ['error', { paths: all('imports') }],
    'no-restricted-syntax': ['error', ...all('syntax')],
  };
}

export default defineConfig(
  { ignores: ['dist/', 'data/', 'coverage/', 'test-output/', 'artifacts/', 'node_modules/'] },
  // No comment in the code can silence a rule: what is wrong for everybody is relaxed here, with its reason.
  { linterOptions: { noInlineConfig: true } },
  {
    rules: {
      // `!= null` is how null and undefined are asked for at once.
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-async-promise-executor': 'error',
      'no-empty': 'error',
      'no-misleading-character-class': 'error',
      'no-self-assign': 'error',
      'no-unsafe-finally': 'error',
      'no-unsafe-optional-chaining': 'error',
      'no-useless-escape': 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // A default says "and all the rest", which is as plain as naming them.
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      complexity: ['warn', 20],
      'max-lines': ['warn', { max: 300 }],

      // Relaxed, each because the strict form only annoys here:
      // a number in a text is no accident,
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `return refuse(response)` ends a case early in one line,
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // a text is taken apart by code point where names are matched,
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // whoever writes a query names the type of its rows,
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // `() => Promise<void> | void` is how a job is written that may or may not wait,
      '@typescript-eslint/no-invalid-void-type': 'off',
      // an async function without await fills a port whose other filler waits,
      '@typescript-eslint/require-await': 'off',
      // web standard classes exist twice (Node's and undici's); what counts is what they do,
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // a signal's reason is unknown, and is thrown on as it is,
      '@typescript-eslint/only-throw-error': 'off',
      'no-throw-literal': 'error',
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      // what was true before an await need not be true after it: `if (this.#isClosed)` is asked again,
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // and taking a member out by naming it `_x` is how it is left behind; tsc watches the other unused names.
      '@typescript-eslint/no-unused-vars': 'off',
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: { ...ban(time, environment, network, children, secrecy), 'no-console': 'error' },
  },
  { files: ['src/upstream/**/*.ts'], rules: ban(time, environment, networkOfLinks, secrecy) },
  { files: ['src/upstream/egress/**/*.ts'], rules: ban(time, environment, secrecy) },
  { files: ['src/store/**/*.ts'], rules: ban(time, environment, network, secrecy) },
  { files: ['src/shared/clock.ts'], rules: ban(environment, network, children, secrecy) },
  { files: ['src/config.ts'], rules: ban(time, network, children, secrecy) },
  { files: ['src/main.ts'], rules: { ...ban(time, network, children, secrecy), 'no-console': 'off' } },
  {
    // Tests read what came over a wire, and say with the expectation what it has to be.
    files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'conformance/**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    // The transport of 2024-11-05 is deprecated, and still spoken by servers that people have.
    files: ['src/upstream/sse-*.ts', 'test/upstream/sse-*.ts', 'test/support/**/*.ts'],
    rules: { '@typescript-eslint/no-deprecated': 'off' },
  },
  {
    files: ['**/*.{mjs,cjs,js}'],
    languageOptions: { globals: nodeGlobals() },
    rules: { 'no-undef': 'error', 'no-unused-vars': 'error' },
  },
);

function nodeGlobals() {
  const names = Object.getOwnPropertyNames(globalThis).concat(
    'require',
    'module',
    'exports',
    '__dirname',
    '__filename',
  );
  return Object.fromEntries(names.map((name) => [name, 'readonly']));
}
