// SPDX-License-Identifier: Apache-2.0
/** Command line of snapshot-conversion-webhook. It has no `--version`. */
import { automaxprocsFlag, intFlag, loggingFlags, stringFlag } from '@csi-sidecars/sidecar';
import type { LoggingValues, ProgramFlags } from '@csi-sidecars/sidecar';

export interface WebhookValues extends LoggingValues {
  readonly automaxprocs: boolean;
  readonly 'tls-cert-file': string;
  readonly 'tls-private-key-file': string;
  readonly port: number;
}

export const webhookProgram: ProgramFlags<WebhookValues> = {
  name: 'snapshot-conversion-webhook',
  syntax: 'go',
  gates: {},
  flags: {
    ...loggingFlags,
    automaxprocs: automaxprocsFlag,
    'tls-cert-file': stringFlag('', 'File of the certificate for HTTPS, with those of its issuers after it. Required.'),
    'tls-private-key-file': stringFlag('', 'File of the private key that belongs to --tls-cert-file. Required.'),
    port: intFlag(443, 'The TCP port on which the webhook listens.'),
  },
};
