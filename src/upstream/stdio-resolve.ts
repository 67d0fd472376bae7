// Finds the program that a command means, before anything runs: an absolute path as it is, a plain name
// in the folders of PATH. Never in the working directory, into which others may write.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { NotRunError } from '../shared/errors.ts';

/** Where the system itself would look. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

/** @param path of the command's own environment. Errors: NotRunError. */
export async function resolveCommand(command: string, path: string | undefined): Promise<string> {
  if (isAbsolute(command)) return command;
  // Empty and relative folders mean the working directory, or lie in it.
  const folders = command.includes('/') ? [] : (path ?? DEFAULT_PATH).split(':').filter(isAbsolute);
  for (const folder of folders) {
    const file = join(folder, command);
    if (await isProgram(file)) return file;
  }
  throw new NotRunError("The server's command could not be started: command not found in the folders of PATH.");
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
