// SPDX-License-Identifier: Apache-2.0
/**
 * What a page tells its reader to type. A fenced block in `sh` is a list of commands; one in another language is a file, and names it:
 *
 *     ```yaml file="values.yaml"
 *     ```sh answer="yes" not-tested="docker run: needs docker; cosign: needs a release"
 *
 * `not-tested` says why commands are not run: the reason for those that begin with the words before its colon, or one for the whole block.
 * `answer` is typed on the terminal of its commands. GitHub shows neither.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../processes/program.ts';

export interface PageCommand {
  readonly kind: 'command';
  /** The heading above it. */
  readonly section: string;
  readonly text: string;
  readonly answer: string | undefined;
  /** Why it is not run. */
  readonly notTested: string | undefined;
}

export interface PageFile {
  readonly kind: 'file';
  readonly section: string;
  readonly name: string;
  readonly content: string;
}

export type PageStep = PageCommand | PageFile;

/** Relative to the repository. Rejects what a test could overlook. */
export function readPage(path: string): readonly PageStep[] {
  try {
    return parsePage(readFileSync(join(repositoryRoot, path), 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}

export function parsePage(markdown: string): readonly PageStep[] {
  const steps: PageStep[] = [];
  const prose: string[] = [];
  let section = '';
  const lines = markdown.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    const fence = /^( *)```(.*)$/.exec(line);
    if (fence === null) {
      section = /^#+ (.*)$/.exec(line)?.[1] ?? section;
      if (/^ {4}/.test(line)) throw new Error(`put code between fences instead of indenting it: ${line.trim()}`);
      prose.push(line);
      continue;
    }
    const [, indent = '', info = ''] = fence;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end === -1) throw new Error(`a block has no end: ${line}`);
    const content = lines.slice(at + 1, end).map((each) => each.slice(indent.length));
    steps.push(...stepsOf(info, content, section));
    at = end;
  }
  const commands = steps.flatMap((step) => (step.kind === 'command' ? [step.text] : []));
  for (const [, span = ''] of prose.join('\n').matchAll(/`([^`]+)`/g)) {
    if (isTyped(span) && !commands.some((command) => command.startsWith(span))) {
      throw new Error(`put a command that is to be typed into a block, so that it is run: ${span}`);
    }
  }
  return steps;
}

const programs = /^(?:[A-Z_]+=\S+ )?(?:kubectl|helm|npm|npx|csi-sidecars|cosign|gh|docker|git|pgrep) /;

/** `kubectl edit pvc` is the name of a command; one with options or an object is to be typed. */
function isTyped(span: string): boolean {
  const words = span.split(/\s+/);
  return programs.test(span) && (words.length > 3 || words.some((word) => word.startsWith('-')));
}

function stepsOf(info: string, lines: readonly string[], section: string): readonly PageStep[] {
  const language = /^\S*/.exec(info)![0];
  const attributes = new Map(
    [...info.matchAll(/ ([a-z-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
  );
  const written = [language, ...[...attributes].map(([key, value]) => `${key}="${value}"`)].join(' ');
  if (written !== info) throw new Error(`not understood: \`\`\`${info}`);
  const name = attributes.get('file');
  if (language !== 'sh') {
    if (name === undefined) throw new Error(`neither commands (\`\`\`sh) nor a file (file="..."): \`\`\`${info}`);
    return [{ kind: 'file', section, name, content: `${lines.join('\n')}\n` }];
  }
  const texts = commandsOf(lines);
  const reasons = reasonsOf(attributes.get('not-tested'));
  for (const { prefix } of reasons) {
    if (!texts.some((text) => text.startsWith(prefix))) throw new Error(`not-tested names no command: ${prefix}`);
  }
  const answer = attributes.get('answer');
  return texts.map((text) => {
    const notTested = reasons.find(({ prefix }) => text.startsWith(prefix))?.reason;
    return { kind: 'command', section, text, answer, notTested };
  });
}

interface Reason {
  readonly prefix: string;
  readonly reason: string;
}

function reasonsOf(value: string | undefined): readonly Reason[] {
  return (value?.split('; ') ?? []).map((entry) => {
    const [, prefix = '', reason = ''] = /^(?:(.*?): )?(.+)$/.exec(entry) ?? [];
    if (reason === '') throw new Error('not-tested without a reason');
    return { prefix, reason };
  });
}

/** A line that ends in a backslash goes on in the next one. */
function commandsOf(lines: readonly string[]): readonly string[] {
  const joined = lines.join('\n').replaceAll(/\\\n\s*/g, '');
  return joined.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
}
