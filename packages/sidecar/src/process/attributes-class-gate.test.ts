// SPDX-License-Identifier: Apache-2.0
import { recordingLogger, scriptedTransport } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { fakeHost } from '../../testing/index.ts';
import { usesAttributesClasses } from './attributes-class-gate.ts';

const name = 'VolumeAttributesClass';
const path = '/apis/storage.k8s.io/v1';
const disabled = `Disabling ${name} feature gate because the ${name} v1 API is not available`;

it.each([
  ['a gate that is off', { isOn: false }, { isUsed: false, asked: [], logged: [] }],
  ['a gate of the command line', { given: [name] }, { isUsed: true, asked: [], logged: [] }],
  ['a cluster that has the kind', {}, { isUsed: true, asked: [path], logged: [] }],
  ['a cluster without it', { kinds: ['StorageClass'] }, { isUsed: false, asked: [path], logged: [disabled] }],
  ['an API server that fails', { status: 403 }, { isUsed: true, asked: [path], logged: [] }],
] as const)('given %s, then the classes are used or not', async (_, options, expected) => {
  const {
    isOn = true,
    given = [],
    kinds = [name],
    status = 200,
  } = options as {
    readonly isOn?: boolean;
    readonly given?: readonly string[];
    readonly kinds?: readonly string[];
    readonly status?: number;
  };
  const { transport, requests } = scriptedTransport({ status, body: { resources: kinds.map((kind) => ({ kind })) } });
  const log = recordingLogger({ verbosity: 0 });
  const host = fakeHost({ intercept: () => transport });
  const { client } = await host.connectApi({ program: '', kubeconfig: '', master: '', qps: 5, burst: 10, log });
  const started = { gates: { [name]: isOn }, givenGates: new Set(given) };
  const isUsed = await usesAttributesClasses({ started, client, log, signal: new AbortController().signal });
  expect({ isUsed, asked: requests.map((request) => request.path), logged: log.messages() }).toEqual(expected);
});
