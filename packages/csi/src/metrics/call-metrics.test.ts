// SPDX-License-Identifier: Apache-2.0
import { type Labels, type MetricOptions, type Metrics, noMetrics } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { csiError, hang, serveCsi } from '../../testing/index.ts';
import { connectCsi } from '../channel/connect.ts';
import { codeFromNumber } from '@csi-sidecars/grpc';
import { createCallMetrics } from './call-metrics.ts';

const probe = { method: '/csi.v1.Identity/Probe', code: 'OK', seconds: 1 } as const;
const probed = { driver_name: 'unknown-driver', method_name: '/csi.v1.Identity/Probe', grpc_status_code: 'OK' };

function recordingMetrics() {
  const families: MetricOptions[] = [];
  const observed: { readonly value: number; readonly labels: Labels | undefined }[] = [];
  const metrics: Metrics = {
    ...noMetrics,
    histogram: (options) => {
      families.push(options);
      return {
        observe: (value, labels) => {
          observed.push({ value, labels });
        },
      };
    },
  };
  return { metrics, families, observed };
}

describe('createCallMetrics', () => {
  it("given a sidecar, then the family is upstream's", () => {
    const { metrics, families } = recordingMetrics();
    createCallMetrics(metrics);
    expect(families).toEqual([
      {
        name: 'csi_sidecar_operations_seconds',
        help: '[ALPHA] Container Storage Interface operation duration with gRPC error code status total',
        labels: ['driver_name', 'method_name', 'grpc_status_code'],
        buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
      },
    ]);
  });

  it('[common#51] given a driver, then the family is csi_plugin_operations_seconds', () => {
    const { metrics, families } = recordingMetrics();
    createCallMetrics(metrics, { subsystem: 'csi_plugin' });
    expect(families.map(({ name }) => name)).toEqual(['csi_plugin_operations_seconds']);
  });

  it('[common#47] given a name that is set late, then earlier observations keep unknown-driver', () => {
    const { metrics, observed } = recordingMetrics();
    const calls = createCallMetrics(metrics);
    calls.record(probe);
    calls.setDriverName('a.example.com');
    calls.record(probe);
    calls.setDriverName('');
    calls.record(probe);
    expect(observed).toEqual([
      { value: 1, labels: probed },
      { value: 1, labels: { ...probed, driver_name: 'a.example.com' } },
      { value: 1, labels: probed },
    ]);
  });

  it('[common#49] given the label migrated, then it is that of the call, false if the call says nothing', () => {
    const { metrics, observed } = recordingMetrics();
    const calls = createCallMetrics(metrics, { labelNames: ['migrated'] });
    calls.record(probe);
    calls.record({ ...probe, migrated: true });
    calls.withLabelValues({ migrated: 'true' }).record(probe);
    expect(observed.map(({ labels }) => labels?.['migrated'])).toEqual(['false', 'true', 'true']);
  });

  it('[common#50] given a label that is undefined, or has a value, then it is an error', () => {
    const calls = createCallMetrics(recordingMetrics().metrics, { labelNames: ['a'] });
    expect(() => calls.withLabelValues({ b: '1' })).toThrow('label "b" was not defined via WithLabelNames');
    const labelled = calls.withLabelValues({ a: '1' });
    expect(() => labelled.withLabelValues({ a: '2' })).toThrow('label "a" already has value "1"');
  });

  it('given two views of one parent, then they do not affect each other, and missing values are empty', () => {
    const { metrics, observed } = recordingMetrics();
    const parent = createCallMetrics(metrics, { labelNames: ['a', 'b'], labels: { fixed: 'f' } });
    const first = parent.withLabelValues({ a: '1' });
    parent.withLabelValues({ a: '2' }).withLabelValues({ b: '3' }).record(probe);
    first.record(probe);
    parent.record(probe);
    expect(observed.map(({ labels }) => labels)).toEqual([
      { ...probed, fixed: 'f', a: '2', b: '3' },
      { ...probed, fixed: 'f', a: '1', b: '' },
      { ...probed, fixed: 'f', a: '', b: '' },
    ]);
  });

  it('[common#52] given calls with any outcome, then each is counted under its code', async () => {
    await using server = await serveCsi({
      '/csi.v1.Identity/Probe': () => ({}),
      '/csi.v1.Controller/DeleteVolume': () => csiError('Code(99)'),
      '/csi.v1.Controller/CreateVolume': hang,
    });
    const clock = new FakeClock();
    const { metrics, observed } = recordingMetrics();
    const deps = { clock, log: recordingLogger(), metrics: createCallMetrics(metrics) };
    const channel = await connectCsi(deps, { address: server.path });
    const call = { timeoutMs: 20_000 };
    await channel.call('/csi.v1.Identity/Probe', {}, call);
    await channel.call('/csi.v1.Identity/GetPluginInfo', {}, call).catch(() => undefined);
    await channel.call('/csi.v1.Controller/DeleteVolume', {}, call).catch(() => undefined);
    const create = channel.call('/csi.v1.Controller/CreateVolume', {}, call).catch(() => undefined);
    await clock.advance(20_000);
    await create;
    channel.close();
    expect(observed.map(({ value, labels }) => [value, labels?.['method_name'], labels?.['grpc_status_code']])).toEqual(
      [
        [0, '/csi.v1.Identity/Probe', 'OK'],
        [0, '/csi.v1.Identity/GetPluginInfo', 'Unimplemented'],
        [0, '/csi.v1.Controller/DeleteVolume', 'Code(99)'],
        [20, '/csi.v1.Controller/CreateVolume', 'DeadlineExceeded'],
      ],
    );
  });
});

describe('codeFromNumber', () => {
  it('given any number, then it has a name as Go spells it', () => {
    expect([0, 1, 2, 14, 16, 17].map(codeFromNumber)).toEqual([
      'OK',
      'Canceled',
      'Unknown',
      'Unavailable',
      'Unauthenticated',
      'Code(17)',
    ]);
  });
});

it('given additional labels, then the family declares them', () => {
  const { metrics, families } = recordingMetrics();
  createCallMetrics(metrics, { labelNames: ['a', 'migrated'], labels: { fixed: 'f' } });
  expect(families.map(({ labels }) => labels)).toEqual([
    ['driver_name', 'method_name', 'grpc_status_code', 'a', 'migrated', 'fixed'],
  ]);
});
