// What the container is made of, and what is not in it.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONFIG_VARIABLES } from '../../src/config.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const SECRETS = ['POSTGRES_PASSWORD', 'KEYBEARER_MASTER_KEY', 'KEYBEARER_ADMIN_KEY'];
const hasCompose = spawnSync('docker', ['compose', 'version']).status === 0;

describe('the image', () => {
  const lines = read('deploy/Containerfile')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line));
  const stages = lines
    .join('\n')
    .split(/^(?=FROM )/m)
    .slice(1);
  const last = stages.at(-1) ?? '';

  it('stands on one exact version of its base', () => {
    const base = lines.find((line) => line.startsWith('ARG NODE='));
    expect(base).toMatch(/^ARG NODE=24\.\d+\.\d+-slim$/);
    expect(stages).toHaveLength(3);
    for (const stage of stages) expect(stage).toMatch(/^FROM node:\$\{NODE\}(?: AS \w+)?\n/);
  });

  it('runs as an ordinary user, who cannot change the programs', () => {
    const [before = '', after = ''] = last.split('USER node\n');
    expect(after).toMatch(/^EXPOSE 8080\nENTRYPOINT /);
    expect(before).not.toContain('--chown');
    expect(last.match(/^USER /gm)).toHaveLength(1);
  });

  it('installs exactly what the lock file says', () => {
    const installs = lines.filter((line) => /npm (?:ci|i|install)\b/.test(line));
    expect(installs).toEqual(['RUN npm ci', 'RUN npm ci --omit=dev --omit=optional']);
    expect(lines.join('\n')).not.toMatch(/curl|wget|ADD |npx|apt-get|git clone/);
  });

  it('has no secret in a layer', () => {
    expect(lines.join('\n')).not.toMatch(/KEY=|PASSWORD|SECRET|TOKEN|DATABASE_URL/i);
    const copied = lines.flatMap((line) => (/^COPY (?!--from)/.test(line) ? line.split(' ').slice(1, -1) : []));
    expect(new Set(copied)).toEqual(
      new Set([
        ...['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'tsconfig.build.json'],
        ...['scripts/build.mjs', 'src', 'LICENSE', 'migrations'],
      ]),
    );
    const [everything, ...kept] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(everything).toBe('*');
    for (const line of kept) expect(line).toMatch(/^![A-Za-z.][\w.-]*$/);
    for (const path of ['!.env', '!data', '!.git']) expect(kept).not.toContain(path);
  });
});

describe('docker-compose.yml', () => {
  const text = read('docker-compose.yml');

  it('takes every secret from the environment, and says so when one is missing', () => {
    for (const name of SECRETS) {
      const uses = text.split(`\${${name}`).length - 1;
      expect(uses, name).toBeGreaterThan(0);
      expect(text.split(`\${${name}:?`).length - 1, name).toBe(uses);
    }
  });

  it('passes on every setting that it does not make itself, so that none in .env is dropped without a word', () => {
    const fixed = ['HOST', 'PORT', 'DATABASE_URL'];
    for (const { name } of CONFIG_VARIABLES.filter((variable) => !fixed.includes(variable.name)))
      expect(text, name).toMatch(new RegExp(String.raw`^ {6}${name}: \$\{${name}:[-?][^}]*\}$`, 'm'));
    for (const name of fixed) expect(text, name).toMatch(new RegExp(String.raw`^ {6}${name}: [^$]+$`, 'm'));
    // Where the image keeps what it writes; nowhere else may its user write.
    expect(text).toContain('KEYBEARER_DATA_DIR: ${KEYBEARER_DATA_DIR:-/data}');
    expect(read('deploy/Containerfile')).toContain('KEYBEARER_DATA_DIR=/data');
  });

  it('gives the proxy no rights beyond those of its user, and opens it to this machine only', () => {
    const proxy = text.slice(text.indexOf('\n  keybearer:'));
    expect(proxy).toContain('cap_drop: [ALL]');
    expect(proxy).toContain('security_opt: ["no-new-privileges:true"]');
    expect(text.match(/^ +- "[\d.]*:?\d+:\d+"/gm)).toEqual(['      - "127.0.0.1:8080:8080"']);
    expect(text).not.toMatch(/privileged|network_mode|docker\.sock/);
  });

  it.skipIf(!hasCompose)('is understood by docker compose (skipped where that is missing)', () => {
    const env = { ...process.env, ...Object.fromEntries(SECRETS.map((name) => [name, 'x'])) };
    expect(execFileSync('docker', ['compose', 'config'], { cwd: ROOT, env, encoding: 'utf8' })).toContain('keybearer');
  });
});
