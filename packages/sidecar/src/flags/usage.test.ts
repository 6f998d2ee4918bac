// SPDX-License-Identifier: Apache-2.0
import { afterEach, expect, it } from 'vitest';
import {
  boolFlag,
  durationFlag,
  featureGatesFlag,
  labelsFlag,
  stringFlag,
  verbosityFlag,
  vmoduleFlag,
} from './flag.ts';
import { usageText } from './usage.ts';

const original = process.stderr.columns;
afterEach(() => setColumns(original));

function setColumns(value: number | undefined): void {
  Object.defineProperty(process.stderr, 'columns', { value, configurable: true, writable: true });
}

const filling = 'x'.repeat(91);
const flags = {
  v: verbosityFlag('verbosity'),
  timeout: durationFlag(90_000, 'Timeout of one call.'),
  wide: stringFlag('', `${filling} end`),
  wider: stringFlag('', `${filling}x end`),
  old: { ...boolFlag(true, 'Lead.'), deprecated: 'use --name' },
  hidden: { ...boolFlag(true, 'Not shown.'), hidden: true },
} as const;

it.each([undefined, 120, 500])(
  'given a terminal with %s columns, then the flags stand in their order, with type, text and default, in at most 120 columns',
  async (columns) => {
    setColumns(columns);
    expect((await usageText('/csi-sample', flags)).split('\n')).toEqual([
      'Usage of /csi-sample:',
      '',
      'Flags:',
      '      --old      boolean  DEPRECATED: use --name. Lead. (default true)',
      '      --timeout  duration  Timeout of one call. (default 1m30s)',
      '  -v             Level  verbosity',
      `      --wide     string  ${filling} end`,
      `      --wider    string  ${filling}x`,
      '                 end',
    ]);
  },
);

it('given flags without a default, then none is shown', async () => {
  const empty = {
    gates: featureGatesFlag('gates'),
    labels: labelsFlag('labels'),
    pause: durationFlag(0, 'pause'),
    vmodule: vmoduleFlag('patterns'),
  };
  expect((await usageText('/csi-sample', empty)).split('\n').slice(3)).toEqual([
    '  --gates    mapStringBool  gates',
    '  --labels   stringMap  labels',
    '  --pause    duration  pause',
    '  --vmodule  pattern=N,...  patterns',
  ]);
});

it('given a narrow terminal, then the texts are broken to its width', async () => {
  setColumns(60);
  const { timeout, old } = flags;
  expect((await usageText('/csi-sample', { timeout, old })).split('\n').slice(3)).toEqual([
    '  --old      boolean  DEPRECATED: use --name. Lead. (default',
    '             true)',
    '  --timeout  duration  Timeout of one call. (default 1m30s)',
  ]);
});
