import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mayExpand, type OperatorFileResult, parseOperatorFile } from '../../src/catalog/operator-file.ts';
import { watchOperatorFile } from '../../src/catalog/operator-file-watch.ts';
import { FakeClock } from '../support/fake-clock.ts';

const parse = (text: string, env: Record<string, string> = {}): OperatorFileResult => parseOperatorFile(text, env);

function problemsOf(text: string, env: Record<string, string> = {}): readonly (readonly string[])[] {
  const result = parse(text, env);
  return result.ok ? [] : result.problems.map(({ path, message }) => [path, message]);
}

describe('parseOperatorFile', () => {
  it('reads JSON with comments and trailing commas', () => {
    expect(
      parse(
        '\ufeff{ // mine\n "mcpServers": { "files": { "command": "npx", "args": ["-y", "x",], /* c */ "timeoutMs": 5, "cwd": null, "enabled": true, }, }, }',
      ),
    ).toEqual({
      ok: true,
      file: {
        tenant: 'default',
        servers: [
          { name: 'files', definition: { command: 'npx', args: ['-y', 'x'], timeoutMs: 5, cwd: null, enabled: true } },
        ],
      },
    });
  });

  it('fills in variables inside values, once', () => {
    const text =
      '{ "tenant": "${T}", "mcpServers": { "a": { "url": "https://${HOST:-a.test}/${P}", "env": { "${T}": "${EMPTY:-x y}${A}$" } } } }';
    expect(parse(text, { T: 'acme', P: '${T}', EMPTY: '', A: '' })).toEqual({
      ok: true,
      file: {
        tenant: 'acme',
        servers: [{ name: 'a', definition: { url: 'https://a.test/${T}', env: { '${T}': 'x y$' } } }],
      },
    });
  });

  it('B044: never gives away the variables of the proxy itself', () => {
    for (const name of [
      'KEYBEARER_MASTER_KEY',
      'KEYBEARER_ADMIN_KEY',
      'KEYBEARER_FUTURE',
      'DATABASE_URL',
      'PGPASSWORD',
      'PG',
      'keybearer_x',
    ]) {
      expect(mayExpand(name), name).toBe(false);
      const problems = problemsOf(`{ "mcpServers": { "a": { "env": { "X": "\${${name}:-d}" } } } }`, {
        [name]: 'canary',
      });
      expect(problems).toEqual([
        ['$.mcpServers.a.env.X', `may not use the variable ${name}: it belongs to the proxy itself`],
      ]);
    }
    for (const name of ['GITHUB_TOKEN', 'HOME', 'PG_TOKEN_1', 'MY_KEYBEARER_X'])
      expect(mayExpand(name), name).toBe(true);
  });

  it('asks the caller which variables are allowed', () => {
    const text = '{ "mcpServers": { "a": { "url": "${A}${B}" } } }';
    expect(parseOperatorFile(text, { A: '1', B: '2' }, (name) => name === 'A')).toMatchObject({
      ok: false,
      problems: [{ message: expect.stringContaining('variable B') as string }],
    });
  });

  it('names every problem at once, with its place', () => {
    const text = `{
      "tenant": "No Tenant", "mcpServer": {},
      "mcpServers": { "mail": { "url": "\${MISSING}" }, "mail": { "args": ["\${input:key}", "\${OPEN"], "only": [], "only": ["*"] } }
    }`;
    expect(problemsOf(text)).toEqual([
      ['$.mcpServer', 'is not known. Did you mean "mcpServers"?'],
      ['$.tenant', "must be a tenant's id"],
      ['$.mcpServers.mail', 'is there twice'],
      ['$.mcpServers.mail.url', 'needs the variable MISSING, which is not set'],
      ['$.mcpServers.mail.only', 'is there twice'],
      ['$.mcpServers.mail.args[0]', 'has "${" that is neither ${NAME} nor ${NAME:-default}'],
      ['$.mcpServers.mail.args[1]', 'has "${" that is neither ${NAME} nor ${NAME:-default}'],
    ]);
  });

  it.each([
    ['', '$'],
    ['[]', '$'],
    ['"text"', '$'],
    ['{}', '$.mcpServers'],
    ['{ "mcpServers": [] }', '$.mcpServers'],
    ['{ "mcpServers": {}, "tenant": 5 }', '$.tenant'],
  ])('refuses a file that says %s', (text, path) => {
    expect(problemsOf(text)[0]?.[0]).toBe(path);
  });

  it('says where the syntax breaks, without quoting it', () => {
    const problems = problemsOf('{\n  "mcpServers": { "a": canary }\n}');
    expect(problems[0]).toEqual(['$', 'line 2, column 24: InvalidSymbol']);
    expect(JSON.stringify(problems)).not.toContain('canary');
  });

  it('is not led into a prototype by a name', () => {
    const result = parse('{ "mcpServers": { "a": { "__proto__": { "url": "x" } } } }');
    const definition = result.ok ? result.file.servers[0]?.definition : undefined;
    expect(Object.keys(definition as object)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(definition)).toBe(Object.prototype);
  });
});

describe('watchOperatorFile', () => {
  let directory: string;
  let path: string;
  const clock = new FakeClock();
  const file = (...names: readonly string[]): string =>
    JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, {}])) });
  const summary = (result: OperatorFileResult): unknown =>
    result.ok ? result.file.servers.map(({ name }) => name) : result.problems[0]?.message;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'operator-file-'));
    path = join(directory, 'servers.json');
    await writeFile(path, file('a'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const watch = async (heard: unknown[]) =>
    await watchOperatorFile({ path, parse, clock, onChange: (result) => heard.push(summary(result)) });

  it('gives the first reading, then each change once, also when the file is replaced', async () => {
    const heard: unknown[] = [];
    const watched = await watch(heard);
    expect(summary(watched.first)).toEqual(['a']);
    await watched.check();
    await writeFile(path, file('a', 'b'));
    await watched.check();
    await watched.check();
    await writeFile(`${path}.new`, file('c', 'd'));
    await rename(`${path}.new`, path);
    await watched.check();
    expect(heard).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    watched.close();
  });

  it('reports bad or missing content once and goes on looking', async () => {
    const heard: unknown[] = [];
    const watched = await watch(heard);
    await writeFile(path, '{');
    await watched.check();
    await rm(path);
    await watched.check();
    await watched.check();
    await writeFile(path, file('b'));
    await watched.check();
    expect(heard).toEqual([expect.stringMatching(/^line 1/), 'the file cannot be read (ENOENT)', ['b']]);
    watched.close();
  });

  it('says nothing when the file was touched and says the same', async () => {
    const heard: unknown[] = [];
    const watched = await watch(heard);
    await writeFile(path, file('a'));
    await watched.check();
    expect(heard).toEqual([]);
    watched.close();
  });

  it('looks each second by itself, and no more once closed', async () => {
    let onChange: (result: OperatorFileResult) => void = () => undefined;
    const changed = new Promise<OperatorFileResult>((resolve) => {
      onChange = resolve;
    });
    const watched = await watchOperatorFile({ path, parse, clock, onChange });
    await writeFile(path, file('z', 'y'));
    clock.advance(1000);
    expect(summary(await changed)).toEqual(['z', 'y']);
    watched.close();
    expect(clock.pending).toBe(0);
  });

  it('is silent when closed during a look', async () => {
    const heard: unknown[] = [];
    const watched = await watch(heard);
    await writeFile(path, file('b'));
    const looking = watched.check();
    watched.close();
    await looking;
    expect(heard).toEqual([]);
  });

  it('begins with the problem when there is no file', async () => {
    await rm(path);
    const watched = await watch([]);
    expect(summary(watched.first)).toBe('the file cannot be read (ENOENT)');
    watched.close();
  });
});
