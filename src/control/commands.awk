# Gathers the commands.def files into commands.inc: each row gets its typed name as second argument,
# because a C token can't hold the dash of "dry-run". Hidden commands keep their token as the name.
/^COMMAND\(/ {
	end = index($0, ",")
	token = substr($0, 9, end - 9)
	name = token
	if ($0 !~ /COMMAND_HIDDEN/)
		gsub(/_/, "-", name)
	$0 = "COMMAND(" token ", \"" name "\"" substr($0, end)
}
{ print }
