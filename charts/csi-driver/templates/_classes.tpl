{{/* What StorageClasses and snapshot classes have in common. */}}

{{/* (value): a parameter as a string. Helm reads numbers as floats, and prints large ones with an exponent unless asked not to. */}}
{{- define "csi-driver.parameter" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- int64 . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* (dict root class prefix kinds): all parameters of a class, its secrets included, as a YAML map of strings. */}}
{{- define "csi-driver.parameters" -}}
{{- $root := .root -}}
{{- $class := .class -}}
{{- $parameters := dict -}}
{{- range $key, $value := default dict $class.parameters -}}
{{- $_ := set $parameters $key (include "csi-driver.parameter" $value) -}}
{{- end -}}
{{- range $kind, $secret := default dict $class.secrets -}}
{{- $ref := include "csi-driver.classSecret" (dict "root" $root "class" $class.name "kind" $kind "secret" $secret) | fromYaml -}}
{{- $_ := set $parameters (printf "csi.storage.k8s.io/%s-secret-name" (kebabcase $kind)) $ref.name -}}
{{- $_ := set $parameters (printf "csi.storage.k8s.io/%s-secret-namespace" (kebabcase $kind)) $ref.namespace -}}
{{- end -}}
{{- toYaml $parameters -}}
{{- end -}}

{{/* (dict class immutable): the name of a class, with a hash of its immutable fields if the values ask for it. */}}
{{- define "csi-driver.className" -}}
{{- if .class.nameSuffixFromHash -}}
{{- printf "%s-%s" .class.name (.immutable | toJson | sha256sum | trunc 8) -}}
{{- else -}}
{{- .class.name -}}
{{- end -}}
{{- end -}}
