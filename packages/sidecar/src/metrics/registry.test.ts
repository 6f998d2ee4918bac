// SPDX-License-Identifier: Apache-2.0
import { createCallMetrics } from '@csi-sidecars/csi';
import { createRegistry, registerProcessMetrics } from '@csi-sidecars/runtime/internal';
import { describe, expect, it } from 'vitest';
import { createMetricsRegistry } from './registry.ts';

describe.each([
  ['on prom-client', createMetricsRegistry],
  ['without a library', createRegistry],
])('%s', (_, create) => {
  it('given observations, then the text has sorted labels with le last', async () => {
    const registry = create();
    const histogram = registry.histogram({
      name: 'csi_sidecar_operations_seconds',
      help: 'Durations',
      labels: ['method_name', 'driver_name'],
      buckets: [0.1, 1],
    });
    histogram.observe(0.5, { method_name: '/a "b"\\', driver_name: 'd' });
    expect(await registry.text()).toBe(
      [
        '# HELP csi_sidecar_operations_seconds Durations',
        '# TYPE csi_sidecar_operations_seconds histogram',
        'csi_sidecar_operations_seconds_bucket{driver_name="d",method_name="/a \\"b\\"\\\\",le="0.1"} 0',
        'csi_sidecar_operations_seconds_bucket{driver_name="d",method_name="/a \\"b\\"\\\\",le="1"} 1',
        'csi_sidecar_operations_seconds_bucket{driver_name="d",method_name="/a \\"b\\"\\\\",le="+Inf"} 1',
        'csi_sidecar_operations_seconds_sum{driver_name="d",method_name="/a \\"b\\"\\\\"} 0.5',
        'csi_sidecar_operations_seconds_count{driver_name="d",method_name="/a \\"b\\"\\\\"} 1',
        '',
      ].join('\n'),
    );
  });

  it('[common#48] given a call of 20 s, then the buckets from 25 s on hold it', async () => {
    const registry = create();
    createCallMetrics(registry).record({ method: '/csi.v1.Controller/CreateVolume', code: 'OK', seconds: 20 });
    const labels = 'driver_name="unknown-driver",grpc_status_code="OK",method_name="/csi.v1.Controller/CreateVolume"';
    const buckets = ['0.1', '0.25', '0.5', '1', '2.5', '5', '10', '15', '25', '50', '120', '300', '600', '+Inf'];
    expect((await registry.text()).split('\n').slice(2, -1)).toEqual([
      ...buckets.map((le, index) => `csi_sidecar_operations_seconds_bucket{${labels},le="${le}"} ${index < 8 ? 0 : 1}`),
      `csi_sidecar_operations_seconds_sum{${labels}} 20`,
      `csi_sidecar_operations_seconds_count{${labels}} 1`,
    ]);
  });

  it('given a family with labels and no observation, then it is not shown', async () => {
    const registry = create();
    registry.counter({ name: 'c_total', help: 'c', labels: ['x'] });
    expect(await registry.text()).toBe('');
  });

  it('given families without labels, then each begins at zero, in the order of their registration', async () => {
    const registry = create();
    registry.counter({ name: 'c_total', help: 'c' });
    registry.gauge({ name: 'g', help: 'g', labels: [] });
    registry.histogram({ name: 'h', help: 'h', buckets: [1] });
    expect((await registry.text()).split('\n')).toEqual([
      '# HELP c_total c',
      '# TYPE c_total counter',
      'c_total 0',
      '# HELP g g',
      '# TYPE g gauge',
      'g 0',
      '# HELP h h',
      '# TYPE h histogram',
      'h_bucket{le="1"} 0',
      'h_bucket{le="+Inf"} 0',
      'h_sum 0',
      'h_count 0',
      '',
    ]);
  });

  it('given labels in another order, then they are of the same series, and the last value of a gauge counts', async () => {
    const registry = create();
    const gauge = registry.gauge({ name: 'g', help: 'g', labels: ['a', 'b'] });
    gauge.set(3, { a: '1', b: '2' });
    gauge.set(5, { b: '2', a: '1' });
    gauge.set(7, { b: '1', a: '2' });
    expect((await registry.text()).split('\n').slice(2)).toEqual(['g{a="1",b="2"} 5', 'g{a="2",b="1"} 7', '']);
  });

  it('given one histogram asked for twice, with other buckets, then both users fill the buckets of the first', async () => {
    const registry = create();
    const options = { name: 'h', help: 'h', labels: ['k'] };
    const first = registry.histogram({ ...options, buckets: [1, 4] });
    const second = registry.histogram({ ...options, buckets: [3] });
    first.observe(1, { k: '1' });
    second.observe(2, { k: '1' });
    second.observe(8, { k: '1' });
    expect((await registry.text()).split('\n').slice(2)).toEqual([
      'h_bucket{k="1",le="1"} 1',
      'h_bucket{k="1",le="4"} 2',
      'h_bucket{k="1",le="+Inf"} 3',
      'h_sum{k="1"} 11',
      'h_count{k="1"} 3',
      '',
    ]);
  });

  it('given one family asked for twice, then both users share it', async () => {
    const registry = create();
    const options = { name: 'c_total', help: 'c', labels: ['x'] };
    registry.counter(options).inc({ x: '1' });
    registry.counter(options).inc({ x: '1' }, 2);
    expect(await registry.text()).toContain('c_total{x="1"} 3\n');
  });

  it('given a family that is read at scrape time, then each page has what is read then, and nothing from before', async () => {
    const registry = create();
    let samples = [{ labels: { x: '1' }, value: 2 }];
    registry.counter({ name: 'c_total', help: 'c', labels: ['x'], collect: () => samples });
    const page = async () => (await registry.text()).split('\n').slice(2, -1);
    expect([await page(), await page()]).toEqual([['c_total{x="1"} 2'], ['c_total{x="1"} 2']]);
    samples = [{ labels: { x: '2' }, value: 3 }];
    expect(await page()).toEqual(['c_total{x="2"} 3']);
  });

  it('given two users of one gauge, then both are read at scrape time and equal labels add up', async () => {
    const registry = create();
    let depth = 1;
    const family = { name: 'workqueue_depth', help: 'd', labels: ['name'] };
    registry.gauge({ ...family, collect: () => [{ labels: { name: 'claims' }, value: depth }] });
    registry.gauge({ ...family, collect: () => [{ labels: { name: 'claims' }, value: 1 }] });
    expect(await registry.text()).toContain('workqueue_depth{name="claims"} 2\n');
    depth = 5;
    expect(await registry.text()).toContain('workqueue_depth{name="claims"} 6\n');
  });

  it('given the process families, then start time, CPU and memory are there', async () => {
    const registry = create();
    registerProcessMetrics(registry, 1_700_000_000_500);
    const text = await registry.text();
    expect(text).toContain('process_start_time_seconds 1700000000.5\n');
    expect(text).toMatch(/# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total [\d.]+\n/);
    for (const name of ['resident_memory_bytes', 'virtual_memory_bytes', 'open_fds', 'max_fds']) {
      expect(text).toMatch(new RegExp(`# TYPE process_${name} gauge\nprocess_${name} [1-9]\\d*\n`));
    }
  });
});
