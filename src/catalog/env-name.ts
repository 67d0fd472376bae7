// Which environment variables a command may be given. A person fills a credential's variable, so its name
// decides what that person controls; the operator fills the static ones.

const NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
const MAX_VALUE_LENGTH = 32_768;

/** Run code, or load it from elsewhere, in the child or in what it starts. Refused for everyone. */
const INJECTS =
  /^(?:LD_.*|DYLD_.*|NODE_.*|PYTHON.*|PERL.*|RUBY.*|GEM_.*|GIT_.*|BASH_.*|BASHOPTS|SHELLOPTS|ENV|IFS|PS4|PROMPT_COMMAND|ZDOTDIR|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|DOTNET_.*|CORECLR_.*|COR_.*|COMPLUS_.*|LUA_.*|PHPRC|PHP_INI_.*|NPM_CONFIG_.*|BUN_.*|DENO_.*|ELECTRON_.*|OPENSSL_.*|LESSOPEN|LESSCLOSE)$/;

/**
 * Common settings inside the families above that only tune a program. They hold for static variables,
 * where the operator also chose the command; a credential's variable has no use for them.
 */
const HARMLESS =
  /^(?:NODE_ENV|NODE_EXTRA_CA_CERTS|NODE_NO_WARNINGS|PYTHONUNBUFFERED|PYTHONIOENCODING|PYTHONUTF8|PYTHONDONTWRITEBYTECODE|GIT_(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL))$/;

/** The operator may set these (PATH, proxies, CA files); a person's key may not become one. */
const STEERS =
  /^(?:PATH|HOME|SHELL|USER|LOGNAME|TMPDIR|PWD|EDITOR|VISUAL|PAGER|BROWSER|.*_PROXY|SSL_.*|.*_CA_BUNDLE|PIP_.*|UV_.*|XDG_.*|KEYBEARER_.*)$/;

/** What is wrong with the name, in words that do not repeat it. */
export function envNameProblem(name: string, filledBy: 'operator' | 'person'): string | undefined {
  if (!NAME.test(name))
    return 'is not a variable name: use capital letters, digits and underscores, at most 64, a letter first';
  if (filledBy === 'operator') return INJECTS.test(name) && !HARMLESS.test(name) ? REFUSED : undefined;
  return INJECTS.test(name) || STEERS.test(name) ? REFUSED : undefined;
}

const REFUSED = 'may not be set: this variable can change which code the command runs or where it connects';

/** A NUL would make spawn fail with a message that repeats the value. */
export function envValueProblem(value: string): string | undefined {
  if (value.includes('\u0000')) return 'cannot be passed to a command: it has a NUL character';
  return value.length > MAX_VALUE_LENGTH ? `is longer than ${String(MAX_VALUE_LENGTH)} characters` : undefined;
}
