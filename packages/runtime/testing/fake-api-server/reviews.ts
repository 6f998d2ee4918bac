// SPDX-License-Identifier: Apache-2.0
/** What a caller may do, as it asks for it: SelfSubjectRulesReview and SelfSubjectAccessReview. They store nothing. */
import { allows, type AccessRule, isReview, type Subject } from './access.ts';
import type { Answer } from './answers.ts';
import type { Route } from './route.ts';
import { badRequest } from './status.ts';

interface Asked {
  readonly spec?: {
    readonly namespace?: string;
    readonly resourceAttributes?: {
      readonly verb?: string;
      readonly group?: string;
      readonly resource?: string;
      readonly subresource?: string;
      readonly namespace?: string;
      readonly name?: string;
    };
  };
}

/** Undefined: it is no review. */
export function answerReview(subject: Subject, route: Route, body: unknown): Answer | undefined {
  if (route.verb !== 'create' || !isReview(route)) return undefined;
  const asked = body as Asked | undefined;
  const isOfRules = route.resource === 'selfsubjectrulesreviews';
  const kind = isOfRules ? 'SelfSubjectRulesReview' : 'SelfSubjectAccessReview';
  const status = isOfRules ? rulesFor(subject, asked) : { allowed: isAllowed(subject, asked) };
  const metadata = { creationTimestamp: null };
  return {
    code: 201,
    body: { kind, apiVersion: 'authorization.k8s.io/v1', metadata, spec: asked?.spec ?? {}, status },
  };
}

/** An authorizer that cannot list its rules, a webhook for example, shows none. */
function rulesFor({ rules, reviews }: Subject, asked: Asked | undefined): object {
  const namespace = asked?.spec?.namespace ?? '';
  if (namespace === '') throw badRequest('no namespace on request');
  if (reviews === 'incomplete') {
    const evaluationError = 'webhook authorizer does not support user rule resolution';
    return { resourceRules: [], nonResourceRules: [], incomplete: true, evaluationError };
  }
  const shown = rules.filter((rule) => rule.namespace === undefined || rule.namespace === namespace);
  return { resourceRules: shown.map(shownRule), nonResourceRules: [], incomplete: false };
}

function shownRule({ apiGroups, resources, verbs, resourceNames }: AccessRule): object {
  return { apiGroups, resources, verbs, ...(resourceNames !== undefined && { resourceNames }) };
}

/** Without a namespace it has to hold in all of them. */
function isAllowed({ rules }: Subject, asked: Asked | undefined): boolean {
  const { verb = '', group = '', resource = '', subresource, ...place } = asked?.spec?.resourceAttributes ?? {};
  const route = { verb, group, resource, subresource, namespace: place.namespace, name: place.name };
  return rules.some((rule) => allows(rule, route));
}
