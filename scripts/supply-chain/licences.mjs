// The licences of everything that is installed with the product, from the lock file and from what is installed.

/** All of them let us hand the package on with ours, for a line of credit at most. */
export const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'PostgreSQL',
];

/** Packages of the product, sorted; `dev` ones are not handed on. */
export function licencesIn(lock, nameOf) {
  return Object.entries(lock.packages)
    .filter(([place, { dev, devOptional }]) => place !== '' && dev !== true && devOptional !== true)
    .map(([place, { version, license }]) => ({ place, name: nameOf(place), version, licence: license ?? 'none told' }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.version < b.version ? -1 : 1));
}

/** `installedOf(place)` gives the package.json there, or undefined where it is for other machines. */
export function problemsOfLicences(packages, installedOf, allowed = ALLOWED) {
  return packages.flatMap(({ place, name, version, licence }) => {
    const installed = installedOf(place);
    const told = installed === undefined ? licence : toldBy(installed);
    return [
      ...(isAllowed(licence, allowed) ? [] : [`${name} ${version}: ${licence} is not on the list`]),
      ...(told === licence ? [] : [`${name} ${version}: the lock file says ${licence}, the package ${told}`]),
    ];
  });
}

/** As old packages say it, too. */
function toldBy({ license, licenses }) {
  const one = license ?? (Array.isArray(licenses) ? licenses[0] : licenses);
  return (typeof one === 'object' ? one?.type : one) ?? 'none told';
}

/** SPDX: of "A OR B" one is enough, of "A AND B" both have to be. Anything longer is for a person to read. */
export function isAllowed(expression, allowed = ALLOWED) {
  const bare = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(bare) || (/ OR /.test(bare) && / AND /.test(bare))) return false;
  if (bare.includes(' OR ')) return bare.split(' OR ').some((one) => allowed.includes(one));
  return bare.split(' AND ').every((one) => allowed.includes(one));
}

export function licencesPage(packages) {
  const rows = packages.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
  return `# Licences\n\nWhat is installed with the product, by the lock file.\n\n| package | version | licence |\n|---|---|---|\n${rows.join('\n')}\n`;
}
