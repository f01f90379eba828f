{{- define "snoozer.labels" -}}
app.kubernetes.io/name: snoozer
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "snoozer.metadata" -}}
name: {{ .root.Release.Name }}-{{ .process }}
labels:
  {{- include "snoozer.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .process }}
{{- end }}

{{- define "snoozer.selector" -}}
matchLabels:
  {{- include "snoozer.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .process }}
{{- end }}

{{/* The pod of a process: `process`, its `args`, whether it has a `probe`, and the `home` volume. */}}
{{- define "snoozer.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels:
    {{- include "snoozer.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .process }}
spec:
  {{- with $values.imagePullSecrets }}
  imagePullSecrets: {{ toJson . }}
  {{- end }}
  automountServiceAccountToken: false
  {{- if eq .process "migrate" }}
  restartPolicy: Never
  {{- end }}
  terminationGracePeriodSeconds: 60
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: {{ .process }}
      image: "{{ $values.image.repository }}:{{ $values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .args }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      envFrom:
        - secretRef: {name: {{ $values.secret | quote }}}
      env:
        - {name: BASE_URL, value: {{ required "baseUrl is the address of the pages" $values.baseUrl | quote }}}
        - {name: MAIL_FROM, value: {{ required "mailFrom is the sender of the mails" $values.mailFrom | quote }}}
        {{- with $values.cloudnativepg.cluster }}
        - name: DATABASE_URL
          valueFrom: {secretKeyRef: {name: "{{ . }}-app", key: uri}}
        {{- end }}
        {{- range $name, $value := $values.settings }}
        - {name: {{ $name }}, value: {{ $value | quote }}}
        {{- end }}
      {{- if eq .process "web" }}
      ports: [{name: http, containerPort: 8000}]
      {{- else if eq .process "inbound" }}
      ports: [{name: mail, containerPort: 8024}]
      {{- end }}
      {{- if ne .process "migrate" }}
      {{- $command := list "snoozer" "health" .process }}
      startupProbe: {exec: {command: {{ toJson $command }}}, periodSeconds: 5, timeoutSeconds: 6, failureThreshold: 180}
      {{- if has .process (list "web" "inbound") }}
      readinessProbe: {exec: {command: {{ toJson $command }}}, periodSeconds: 10, timeoutSeconds: 6}
      {{- end }}
      {{- end }}
      {{- if eq .process "web" }}
      # Not /readyz: while the database is away, a restart helps nobody.
      livenessProbe: {httpGet: {path: /healthz, port: http, httpHeaders: [{name: Host, value: {{ (urlParse $values.baseUrl).host | quote }}}]}, periodSeconds: 10, timeoutSeconds: 6}
      {{- end }}
      resources: {{ toJson (index $values .process).resources }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: home, mountPath: /var/lib/snoozer}
  volumes:
    - {name: tmp, emptyDir: {}}
    {{- if ne .process "worker" }}
    - {name: home, emptyDir: {}}
    {{- end }}
{{- end }}
