// SPDX-License-Identifier: Apache-2.0
/** Types what a page says, section by section, as its reader does in a copy of this repository. */
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { type PageCommand, type PageStep, readPage } from '../pages/read-page.ts';
import { findProgram, repositoryRoot } from '../processes/program.ts';
import { answer, shell } from './commands.ts';

/** What stands for the words in capitals. */
export type Placeholders = Readonly<Record<string, string>>;

export interface TypedPage {
  /** Types the commands below this heading. Returns what they wrote. */
  section(heading: string): Promise<string>;
  /** Rejects if a section was left out. Returns a line for each command. */
  report(): string;
}

/** `files` are what its reader has from another page. */
export function openPage(
  path: string,
  placeholders: Placeholders,
  files: Readonly<Record<string, string>> = {},
): TypedPage {
  const folder = readersFolder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content, { flag: 'wx' });
  let steps: readonly PageStep[] = readPage(path);
  const lines = [`${path}, with ${JSON.stringify(placeholders)}`];
  return {
    async section(heading) {
      const own = steps.filter(({ section }) => section === heading);
      if (own.length === 0) throw new Error(`${path} has no commands below ${heading}`);
      steps = steps.filter(({ section }) => section !== heading);
      let written = '';
      for (const step of own) {
        if (step.kind === 'file') writeFileSync(join(folder, step.name), step.content, { flag: 'wx' });
        else if (step.notTested !== undefined) lines.push(`  not run (${step.notTested}): ${step.text}`);
        else {
          const text = filled(step.text, placeholders);
          lines.push(`  ${text}`);
          written += await type(folder, { ...step, text }, placeholders);
        }
      }
      return written;
    },
    report() {
      const left = new Set(steps.map(({ section }) => section));
      if (left.size > 0) throw new Error(`${path}: no command was typed from what is below ${[...left].join(', ')}`);
      const notRun = lines.filter((line) => line.startsWith('  not run')).length;
      return [...lines, `  ${lines.length - 1 - notRun} commands run, ${notRun} not run`, ''].join('\n');
    },
  };
}

async function type(folder: string, command: PageCommand, placeholders: Placeholders): Promise<string> {
  const line = `cd '${folder}' && export PATH="${folder}/bin:$PATH" && ${command.text}`;
  return command.answer === undefined ? shell(line) : answer(line, filled(command.answer, placeholders));
}

/** `NAME:.metadata.name` is a column, not a placeholder. */
function filled(text: string, placeholders: Placeholders): string {
  const word = (name: string): RegExp => new RegExp(`(?<![\\w-])${name}(?![\\w-]|:\\.)`, 'g');
  const done = Object.entries(placeholders).reduce((all, [name, value]) => all.replaceAll(word(name), value), text);
  const open = /(?<![\w$-])[A-Z][A-Z-]+(?![\w=-]|:\.)/.exec(done);
  if (open !== null) throw new Error(`nothing stands for ${open[0]}: ${text}`);
  return done;
}

/** The repository by links, with a place for new files of the reader, and csi-sidecars as somebody has put it in the PATH. */
function readersFolder(): string {
  const { scratch, kubeconfig } = inject('cluster');
  const folder = mkdtempSync(join(scratch, 'page-'));
  for (const name of readdirSync(repositoryRoot)) symlinkSync(join(repositoryRoot, name), join(folder, name));
  mkdirSync(join(folder, 'bin'));
  const { command, args } = findProgram('csi-sidecars', {});
  const program = join(folder, 'bin', 'csi-sidecars');
  writeFileSync(program, `#!/bin/sh\nexec ${[command, ...args].map((word) => `'${word}'`).join(' ')} "$@"\n`);
  chmodSync(program, 0o755);
  // Where kubectl and the pages look for it: commands.ts makes this folder the home.
  mkdirSync(join(scratch, '.kube'), { recursive: true });
  copyFileSync(kubeconfig, join(scratch, '.kube', 'config'));
  return folder;
}
