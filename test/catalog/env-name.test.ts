// T24: which variables of a command an operator may set, and which of them a person's key may fill.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envNameProblem, envValueProblem } from '../../src/catalog/env-name.ts';

/** Each runs code in the child, or loads it from elsewhere. */
const INJECTING = [
  'BASH_ENV',
  'BASHOPTS',
  'ENV',
  'IFS',
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
  'CLASSPATH',
  'PROMPT_COMMAND',
  'PS4',
  'SHELLOPTS',
  'ZDOTDIR',
  'GLIBC_TUNABLES',
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'PYTHONSTARTUP',
  'PYTHONHOME',
  'PERL5LIB',
  'PERL5OPT',
  'RUBYLIB',
  'GIT_SSH',
  'GIT_EXTERNAL_DIFF',
  'GIT_CONFIG_COUNT',
  'LD_LIBRARY_PATH',
  'LD_AUDIT',
  'OPENSSL_CONF',
  'NPM_CONFIG_SCRIPT_SHELL',
];
const INJECTING_FAMILIES = ['LD_', 'DYLD_', 'PYTHON', 'PERL5', 'RUBY', 'GIT_', 'NODE_', 'BASH_', 'NPM_CONFIG_'];

/** An operator chose the command and may steer it; a person may not. */
const STEERING = [
  'PATH',
  'HOME',
  'SHELL',
  'TMPDIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'FTP_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'SSL_ANYTHING',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'KEYBEARER_MASTER_KEY',
];
/** Of the families above, and harmless in the hand of whoever chose the command. */
const TUNING = ['NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'PYTHONUNBUFFERED', 'PYTHONUTF8', 'GIT_AUTHOR_NAME'];

const suffix = fc.string({ unit: fc.constantFrom('A', 'B', 'X', 'Z', '0', '9', '_'), minLength: 1, maxLength: 20 });

describe('a variable of a command', () => {
  it.each(INJECTING)('T24: is %s for nobody', (name) => {
    expect(envNameProblem(name, 'operator')).toContain('may not be set');
    expect(envNameProblem(name, 'person')).toContain('may not be set');
  });

  it.each(INJECTING_FAMILIES)(
    'T24: is none of the family %s for a person, nor for an operator unless it only tunes',
    (family) => {
      fc.assert(
        fc.property(suffix, (rest) => {
          const name = `${family}${rest}`;
          expect(envNameProblem(name, 'person')).toContain('may not be set');
          if (!TUNING.includes(name)) expect(envNameProblem(name, 'operator')).toContain('may not be set');
        }),
      );
    },
  );

  it.each(STEERING)('T24: is %s for the operator alone', (name) => {
    expect(envNameProblem(name, 'operator')).toBeUndefined();
    expect(envNameProblem(name, 'person')).toContain('may not be set');
  });

  it('T24: that ends in _PROXY or begins with SSL_ is filled by no person', () => {
    fc.assert(
      fc.property(suffix, (part) => {
        expect(envNameProblem(`X${part}_PROXY`, 'person')).toContain('may not be set');
        expect(envNameProblem(`SSL_${part}`, 'person')).toContain('may not be set');
      }),
    );
  });

  it.each(TUNING)('is %s for the operator, who chose the command', (name) => {
    expect(envNameProblem(name, 'operator')).toBeUndefined();
    expect(envNameProblem(name, 'person')).toContain('may not be set');
  });

  it.each(['GITHUB_TOKEN', 'GITHUB_PERSONAL_ACCESS_TOKEN', 'API_KEY', 'PGPASSWORD', 'X', 'A'.repeat(64)])(
    'may be %s for both',
    (name) => {
      expect(envNameProblem(name, 'operator')).toBeUndefined();
      expect(envNameProblem(name, 'person')).toBeUndefined();
    },
  );

  it('T24: has a plain name, or is refused without being repeated', () => {
    const part = fc.string({
      unit: fc.constantFrom('A', '_', '1', '=', '\n', '\u0000', ' ', 'a', 'É', '\u0130'),
      maxLength: 4,
    });
    fc.assert(
      fc.property(part, part, (before, after) => {
        const name = `${before}CANARY5BE1${after}`;
        for (const filledBy of ['operator', 'person'] as const) {
          const problem = envNameProblem(name, filledBy);
          if (problem === undefined) expect(name).toMatch(/^[A-Z][A-Z0-9_]*$/);
          else expect(problem).not.toContain('CANARY');
        }
      }),
      { numRuns: 500 },
    );
  });

  it('T24: has no NUL in its value, and no more than 32 KiB', () => {
    expect(envValueProblem('a\nb = "ü"')).toBeUndefined();
    expect(envValueProblem('canary\u0000')).toMatch(/^(?!.*canary).*NUL/);
    expect(envValueProblem('x'.repeat(32_768))).toBeUndefined();
    expect(envValueProblem('x'.repeat(32_769))).toContain('longer than 32768');
  });
});
