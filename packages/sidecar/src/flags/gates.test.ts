// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { gatesFlag, releaseOnExitGate } from '../programs/shared-flags.ts';
import { type Gate, resolveGates } from './gates.ts';

/** Every `featuregate.Feature` in pkg/features/kube_features.go of k8s.io/apiserver v0.36.0 and v0.37.0. */
const namesOfApiServer = `
  APIResponseCompression APIServerIdentity APIServerTracing APIServerWebhookAuthenticationToken APIServingWithRoutine
  AggregatedDiscoveryRemoveBetaType AllowParsingUserUIDFromCertAuth AllowUnsafeMalformedObjectDeletion
  AnonymousAuthConfigurableEndpoints AuthorizeWithSelectors BtreeWatchCache CBORServingAndStorage
  ConcurrentWatchObjectDecode ConsistentListFromCache ConsistentListFromCacheSkipTimeoutFallback
  ConstrainedImpersonation CoordinatedLeaderElection DeclarativeValidation DeclarativeValidationBeta
  DeclarativeValidationTakeover DetectCacheInconsistency EtcdRangeStream ExcludeAdmissionWebhookVirtualResources KMSv1
  ListFromCacheSnapshot ManifestBasedAdmissionControlConfig MutatingAdmissionPolicy OpenAPIEnums
  RemoteRequestHeaderUID ResilientWatchCacheInitialization RetryGenerateName SeparateCacheWatchRPC ShardedListAndWatch
  SizeBasedListCostEstimate StorageVersionAPI StorageVersionHash StreamingCollectionEncodingToJSON
  StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
  StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
  TokenRequestServiceAccountUIDValidation UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
  WatchCacheInitializationPostStartHook WatchList WatchListCompression WebhookRoundTripLoadBalancing
`;

it('given gates of the API server, then each is accepted and has no effect', () => {
  const settings = Object.fromEntries(
    namesOfApiServer
      .trim()
      .split(/\s+/)
      .map((name) => [name, true]),
  );
  expect(resolveGates({}, settings)).toEqual({
    kind: 'resolved',
    enabled: {},
    given: new Set(Object.keys(settings)),
    finished: [],
  });
});

describe('the gates of a program', () => {
  const gates = {
    ...releaseOnExitGate,
    Usual: { stage: 'BETA', defaultValue: true },
    Old: { stage: 'GA', defaultValue: true },
  } as const satisfies Readonly<Record<string, Gate>>;
  const on = { ReleaseLeaderElectionOnExit: true, Usual: true, Old: true };

  it.each([
    [{}, on],
    [{ AllAlpha: false }, { ...on, ReleaseLeaderElectionOnExit: false }],
    [{ AllBeta: false }, { ...on, Usual: false }],
    [
      { AllAlpha: false, AllBeta: false, Usual: true },
      { ...on, ReleaseLeaderElectionOnExit: false },
    ],
  ])('given %j, then a group sets the gates of its stage that are not named', (settings, enabled) => {
    const given = new Set(Object.keys(settings));
    expect(resolveGates(gates, settings)).toEqual({ kind: 'resolved', enabled, given, finished: [] });
  });

  it('given a finished gate, then it is named as such', () => {
    expect(resolveGates(gates, { Old: false, Usual: true, WatchList: true })).toEqual({
      kind: 'resolved',
      enabled: { ...on, Old: false },
      given: new Set(['Old', 'Usual', 'WatchList']),
      finished: ['Old'],
    });
  });

  it.each(['NoSuchGate', 'toString'])('given %s, then it is refused', (name) => {
    expect(resolveGates(gates, { Usual: true, [name]: true })).toEqual({
      kind: 'invalid',
      message: `unrecognized feature gate: ${name}`,
    });
  });

  it.each([
    ['Usaul', 'Usual'],
    ['AllBetas', 'AllBeta'],
    ['WatchLists', undefined],
  ])('[common#80] given %s, then of its own gates and groups %s is suggested', (name, didYouMean) => {
    expect(resolveGates(gates, { [name]: true })).toMatchObject({ kind: 'invalid', didYouMean });
  });

  it('given --help, then the gates stand in their order, with stage and default', () => {
    expect(gatesFlag(gates).usage).toBe(
      [
        'A set of key=value pairs that describe feature gates for alpha/experimental features. Options are:',
        'AllAlpha=true|false (ALPHA - default=false)',
        'AllBeta=true|false (BETA - default=false)',
        'Old=true|false (GA - default=true)',
        'ReleaseLeaderElectionOnExit=true|false (ALPHA - default=true)',
        'Usual=true|false (BETA - default=true)',
      ].join('\n'),
    );
  });
});
