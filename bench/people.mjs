// Who takes part in `npm run bench`, and with which tokens: the same for upstream, load and targets.
import { createHmac } from 'node:crypto';

export const ISSUER = 'https://bench.example/issuer';
export const AUDIENCE = 'keybearer-bench';
export const PEOPLE = 16;
export const TENANTS = 4;
export const SERVERS = 20;
/** Of these servers are called; the others only offer tools. */
export const CALLED_SERVERS = 4;
export const TOOLS_PER_SERVER = 10;

export const person = (i) => `p${i}`;
export const tenantOf = (i) => `t${i % TENANTS}`;
export const serverName = (j) => `s${j}`;

/** Each person's own at each server; nobody can make one without this run's secret. */
export function tokenFor(server, who) {
  const mac = createHmac('sha256', process.env.BENCH_SECRET).update(`${server} ${who}`).digest('base64url');
  return `${server}.${who}.${mac}`;
}

/** The person a token stands for at this server; undefined when it is not good there. */
export function personOf(server, token) {
  const who = token.split('.')[1] ?? '';
  return tokenFor(server, who) === token ? who : undefined;
}

/** What bench/load-fixture.mjs puts into the product's database. */
export function fixtureFor(upstream) {
  const servers = Array.from({ length: SERVERS }, (_, j) => serverName(j));
  return {
    servers: servers.map((name) => ({ name, url: `${upstream}/${name}/mcp` })),
    people: Array.from({ length: PEOPLE }, (_, i) => ({
      tenant: tenantOf(i),
      principal: person(i),
      tokens: Object.fromEntries(servers.map((name) => [name, tokenFor(name, person(i))])),
    })),
    jwt: { iss: ISSUER, aud: AUDIENCE, tenantClaim: 'tenant', principalClaim: 'sub' },
  };
}
