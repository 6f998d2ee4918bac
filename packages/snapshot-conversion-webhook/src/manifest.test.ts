// SPDX-License-Identifier: Apache-2.0
import { goUsageText, loggingFlags } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import { webhookProgram } from './flags.ts';
import { webhookManifest } from './manifest.ts';

it('given the manifest, then the webhook is called by the API server, and has no rights, no election and no driver', () => {
  const { syntax, flags, gates } = webhookProgram;
  expect(webhookManifest).toEqual({
    name: 'snapshot-conversion-webhook',
    kind: 'webhook',
    package: 'snapshot-conversion-webhook',
    commandLine: 'snapshot-conversion-webhook',
    flags: { syntax, flags, gates },
    rules: [],
    lockName: undefined,
    driverNeeds: [],
  });
});

it('given --help, then each flag of its own has its type, its text and its default', async () => {
  const own = Object.entries(webhookProgram.flags).filter(([name]) => !(name in loggingFlags));
  expect(await goUsageText('/snapshot-conversion-webhook', Object.fromEntries(own))).toBe(
    [
      'Usage of /snapshot-conversion-webhook:',
      '  -automaxprocs',
      '    \taccepted for compatibility (the original sets its scheduler threads from the CPU quota); has no effect',
      '  -port int',
      '    \tThe TCP port on which the webhook listens. (default 443)',
      '  -tls-cert-file string',
      '    \tFile of the certificate for HTTPS, with those of its issuers after it. Required.',
      '  -tls-private-key-file string',
      '    \tFile of the private key that belongs to --tls-cert-file. Required.',
      '',
    ].join('\n'),
  );
});

it('given the program, then it has the name of the original and no feature gates', () => {
  expect([webhookProgram.name, webhookProgram.gates]).toEqual(['snapshot-conversion-webhook', {}]);
});
