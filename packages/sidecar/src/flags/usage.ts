// SPDX-License-Identifier: Apache-2.0
/**
 * The usage text, by yargs, which is loaded only for `--help=all`. It does not parse the command line, because its syntax is looser
 * than Go's.
 */
import type { Flags } from './flag.ts';

const widest = 120;

/** The answer to `--help=all`. */
export async function usageText(program: string, flags: Flags): Promise<string> {
  const { default: yargs } = await import('yargs');
  const parser = yargs([])
    .scriptName(program)
    .usage(`Usage of ${program}:`)
    .help(false)
    .version(false)
    .wrap(Math.min(process.stderr.columns ?? widest, widest));
  for (const name of Object.keys(flags).sort()) {
    const flag = flags[name]!;
    if (flag.hidden === true) continue;
    const kind = flag.type === '' ? 'boolean' : flag.type;
    const shownDefault = flag.defaultText === '' ? '' : ` (default ${flag.defaultText})`;
    parser.option(name, {
      group: 'Flags:',
      describe: `${kind}  ${flag.deprecated === undefined ? '' : `DEPRECATED: ${flag.deprecated}. `}${flag.usage}${shownDefault}`,
    });
  }
  return parser.getHelp();
}
