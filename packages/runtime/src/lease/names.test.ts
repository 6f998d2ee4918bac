// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { toElectionConfig } from './election-config.ts';
import { leaseIdentity, leaseName, leaseNamespace } from './names.ts';

describe('names', () => {
  it.each([
    ['test!driver/foo', 'test-driver-foo'],
    ['driver\\', 'driver-X'],
    ['external-attacher-leader-ebs.csi.aws.com', 'external-attacher-leader-ebs-csi-aws-com'],
    ['ünïcödé', '-n-c-d-X'],
  ])('given the lock name %s, then the lease is %s', (lock, lease) => {
    expect([leaseName(lock), leaseIdentity(lock)]).toEqual([lease, lease]);
  });

  it('[common#45] given neither flag, variable nor service account, then the namespace is default', () => {
    expect(leaseNamespace({ flag: '', podNamespace: undefined, serviceAccountNamespace: undefined })).toBe('default');
    expect(leaseNamespace({ flag: '', podNamespace: '', serviceAccountNamespace: '\n' })).toBe('default');
  });

  it('[common#46] given POD_NAMESPACE, then it wins over the service account, and the flag wins over both', () => {
    expect(leaseNamespace({ flag: '', podNamespace: 'pod', serviceAccountNamespace: 'account\n' })).toBe('pod');
    expect(leaseNamespace({ flag: 'flag', podNamespace: 'pod', serviceAccountNamespace: 'account' })).toBe('flag');
    expect(leaseNamespace({ flag: '', podNamespace: undefined, serviceAccountNamespace: ' account\n' })).toBe(
      'account',
    );
  });
});

describe('durations', () => {
  const options = { namespace: 'ns', name: 'lease', identity: 'a' };

  it('[common#36] given a retry period of 9 s with the default renew deadline, then it is refused', () => {
    expect(() => toElectionConfig({ ...options, retryPeriodMs: 9000 })).toThrow(
      'renewDeadline must be greater than retryPeriod*JitterFactor',
    );
  });

  it('[common#37] given a lease duration that is not above the renew deadline, then it is refused', () => {
    expect(() => toElectionConfig({ ...options, leaseDurationMs: 10_000 })).toThrow(
      'leaseDuration must be greater than renewDeadline',
    );
  });

  it('given no identity, or an invalid duration, then the configuration is refused', () => {
    expect(() => toElectionConfig({ ...options, identity: '' })).toThrow('Lock identity is empty');
    expect(() => toElectionConfig({ ...options, retryPeriodMs: 0 })).toThrow('retryPeriod must be greater than zero');
    expect(() => toElectionConfig({ ...options, leaseDurationMs: 0, renewDeadlineMs: -1, retryPeriodMs: -2 })).toThrow(
      'leaseDuration must be greater than zero',
    );
  });

  it('given durations at the limits, then the configuration is refused at the limit and accepted beyond it', () => {
    const shortest = { leaseDurationMs: 1000, renewDeadlineMs: 1, retryPeriodMs: 0.5 };
    expect(toElectionConfig({ ...options, ...shortest })).toMatchObject(shortest);
    expect(() => toElectionConfig({ ...options, renewDeadlineMs: 6000 })).toThrow(
      'renewDeadline must be greater than retryPeriod*JitterFactor',
    );
    expect(toElectionConfig({ ...options, renewDeadlineMs: 6001 }).renewDeadlineMs).toBe(6001);
    expect(() => toElectionConfig({ ...options, renewDeadlineMs: 0, retryPeriodMs: -1 })).toThrow(
      'renewDeadline must be greater than zero',
    );
    expect(toElectionConfig({ ...options, leaseDurationMs: 15_999 }).leaseDurationMs).toBe(15_000);
  });

  it('given no further options, then the Lease is not released, and has no labels and no name in metrics', () => {
    expect(toElectionConfig(options)).toMatchObject({ releaseOnExit: false, labels: {}, metricName: '' });
  });

  it('given a configuration that is refused, then the error has its own name', () => {
    expect(() => toElectionConfig({ ...options, identity: '' })).toThrow(
      expect.objectContaining({ name: 'ElectionConfigError' }) as Error,
    );
  });

  it('given the defaults, then a request has half of the renew deadline, and never less than a second', () => {
    expect(toElectionConfig(options)).toMatchObject({
      leaseDurationMs: 15_000,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 5000,
      requestTimeoutMs: 5000,
    });
    expect(toElectionConfig({ ...options, renewDeadlineMs: 1500, retryPeriodMs: 500 }).requestTimeoutMs).toBe(1000);
  });
});
